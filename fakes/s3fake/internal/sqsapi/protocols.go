// SPDX-License-Identifier: Apache-2.0

package sqsapi

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Errors of SQS by the codes of the Query protocol, which SDKs report also with JSON.
var (
	errNoQueue        = awserr.New(http.StatusBadRequest, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
	errQueueExists    = awserr.New(http.StatusBadRequest, "QueueAlreadyExists", "")
	errDenied         = awserr.New(http.StatusForbidden, "AccessDenied", "")
	errInvalidAction  = awserr.New(http.StatusBadRequest, "InvalidAction", "")
	errInvalidValue   = awserr.New(http.StatusBadRequest, "InvalidParameterValue", "")
	errMissing        = awserr.New(http.StatusBadRequest, "MissingParameter", "")
	errAttributeName  = awserr.New(http.StatusBadRequest, "InvalidAttributeName", "")
	errAttributeValue = awserr.New(http.StatusBadRequest, "InvalidAttributeValue", "")
	errHandle         = awserr.New(http.StatusNotFound, "ReceiptHandleIsInvalid", "")
	errOverLimit      = awserr.New(http.StatusForbidden, "OverLimit", "")
)

// shapes are the names of errors in the JSON protocol that differ from their codes.
var shapes = map[string]string{
	errNoQueue.Code: "com.amazonaws.sqs#QueueDoesNotExist", errQueueExists.Code: "com.amazonaws.sqs#QueueNameExists",
	errDenied.Code: "com.amazon.coral.service#AccessDeniedException", errInvalidAction.Code: "com.amazon.coral.service#UnknownOperationException",
	errInvalidValue.Code: "com.amazon.coral.service#InvalidParameterValueException", errMissing.Code: "com.amazonaws.sqs#MissingRequiredParameterException",
}

// refused returns an error like e with a message.
func refused(e *awserr.Error, format string, args ...any) *awserr.Error {
	return awserr.Newf(e.Status, e.Code, format, args...)
}

// Input are the parameters of all supported operations.
type Input struct {
	QueueName            string            `json:"QueueName"`
	QueueURL             string            `json:"QueueUrl"`
	Owner                string            `json:"QueueOwnerAWSAccountId"`
	Attributes           map[string]string `json:"Attributes"`
	AttributeNames       []string          `json:"AttributeNames"`
	SystemAttributeNames []string          `json:"MessageSystemAttributeNames"`
	// UserAttributeNames are ignored: messages from S3 have no attributes of users.
	UserAttributeNames  []string `json:"MessageAttributeNames"`
	MaxNumberOfMessages *int     `json:"MaxNumberOfMessages"`
	VisibilityTimeout   *int     `json:"VisibilityTimeout"`
	WaitTimeSeconds     *int     `json:"WaitTimeSeconds"`
	ReceiptHandle       string   `json:"ReceiptHandle"`
}

// Call is a request in one of the protocols.
type Call struct {
	Action string
	Input  Input
	// query is set for the Query protocol.
	query bool
}

// targetPrefix is the part of the header X-Amz-Target before the operation.
const targetPrefix = "AmazonSQS."

// IsTarget reports whether a header X-Amz-Target is for SQS.
func IsTarget(target string) bool { return strings.HasPrefix(target, targetPrefix) }

// Parse reads a request: its header X-Amz-Target, or else its form in the Query protocol.
func Parse(target string, form url.Values, body []byte) (Call, error) {
	if action, ok := strings.CutPrefix(target, targetPrefix); ok {
		c := Call{Action: action}
		if slices.Contains(unserved, action) {
			return c, nil // its parameters do not matter
		}
		return c, c.readJSON(body)
	}
	c := Call{Action: form.Get("Action"), query: true}
	if slices.Contains(unserved, c.Action) {
		return c, nil
	}
	return c, c.readForm(form)
}

func (c *Call) readJSON(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(&c.Input)
	if err == nil {
		return nil
	}
	if _, field, unknown := strings.Cut(err.Error(), "unknown field "); unknown {
		return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s of %s is not supported by this fake.", field, c.Action)
	}
	return awserr.New(http.StatusBadRequest, "SerializationException", "The request body is not valid JSON for this operation.")
}

// readForm reads the parameters of the Query protocol. Elements of lists are numbered.
func (c *Call) readForm(form url.Values) error {
	names, values := map[string]string{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		v := form.Get(key)
		head, rest, _ := strings.Cut(key, ".")
		switch head {
		case "Action", "Version":
		case "QueueName":
			c.Input.QueueName = v
		case "QueueUrl":
			c.Input.QueueURL = v
		case "QueueOwnerAWSAccountId":
			c.Input.Owner = v
		case "ReceiptHandle":
			c.Input.ReceiptHandle = v
		case "AttributeName", "MessageSystemAttributeName":
			c.Input.AttributeNames = append(c.Input.AttributeNames, v)
		case "MessageAttributeName":
		case "Attribute":
			if n, isName := strings.CutSuffix(rest, ".Name"); isName {
				names[n] = v
			} else {
				values[strings.TrimSuffix(rest, ".Value")] = v
			}
		case "MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds":
			n, err := strconv.Atoi(v)
			if err != nil {
				return refused(errInvalidValue, "Value %s for parameter %s is invalid. Reason: Must be a number.", v, head)
			}
			*map[string]**int{"MaxNumberOfMessages": &c.Input.MaxNumberOfMessages, "VisibilityTimeout": &c.Input.VisibilityTimeout, "WaitTimeSeconds": &c.Input.WaitTimeSeconds}[head] = &n
		default:
			if !strings.HasPrefix(key, "X-Amz-") {
				return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s of %s is not supported by this fake.", key, c.Action)
			}
		}
	}
	for n, name := range names {
		if c.Input.Attributes == nil {
			c.Input.Attributes = map[string]string{}
		}
		c.Input.Attributes[name] = values[n]
	}
	return nil
}

// pairs are names with values. In XML each is an element with both.
type pairs map[string]string

// MarshalXML implements xml.Marshaler.
func (p pairs) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		pair := struct{ Name, Value string }{name, p[name]}
		if err := e.EncodeElement(pair, start); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
	}
	return nil
}

const namespace = "http://queue.amazonaws.com/doc/2012-11-05/"

// Encode returns the body of the response with a result, and its content type.
func (c Call) Encode(result any, requestID string) (body []byte, contentType string, err error) {
	if !c.query {
		if result == nil {
			return []byte("{}"), "application/x-amz-json-1.0", nil
		}
		body, err = json.Marshal(result)
		return body, "application/x-amz-json-1.0", err
	}
	var b bytes.Buffer
	b.WriteString(xml.Header + `<` + c.Action + `Response xmlns="` + namespace + `">`)
	if result != nil {
		start := xml.StartElement{Name: xml.Name{Local: c.Action + "Result"}}
		if err := xml.NewEncoder(&b).EncodeElement(result, start); err != nil {
			return nil, "", fmt.Errorf("encode the result of %s: %w", c.Action, err)
		}
	}
	b.WriteString(`<ResponseMetadata><RequestId>` + requestID + `</RequestId></ResponseMetadata></` + c.Action + `Response>`)
	return b.Bytes(), "text/xml", nil
}

// WriteError responds with an error.
func (c Call) WriteError(w http.ResponseWriter, e *awserr.Error, requestID string) {
	fault := "Sender"
	if e.Status >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	var body []byte
	if c.query {
		w.Header().Set("Content-Type", "text/xml")
		text := struct{ Type, Code, Message, Detail string }{fault, e.Code, e.Message, ""}
		var b bytes.Buffer
		b.WriteString(xml.Header + `<ErrorResponse xmlns="` + namespace + `">`)
		_ = xml.NewEncoder(&b).EncodeElement(text, xml.StartElement{Name: xml.Name{Local: "Error"}}) // a struct of strings
		b.WriteString(`<RequestId>` + requestID + `</RequestId></ErrorResponse>`)
		body = b.Bytes()
	} else {
		shape, ok := shapes[e.Code]
		if !ok {
			shape = "com.amazonaws.sqs#" + e.Code
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Query-Error", e.Code+";"+fault)
		body, _ = json.Marshal(map[string]string{"__type": shape, "message": e.Message}) // a map of strings
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) // fails only if the client has disconnected
}
