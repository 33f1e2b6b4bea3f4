// SPDX-License-Identifier: Apache-2.0

package sqsapi

import (
	"bytes"
	"cmp"
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
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iamapi"
)

// Errors of SQS by the codes of the Query protocol, which SDKs report also with JSON.
var (
	errNoQueue        = awserr.New(http.StatusBadRequest, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
	errQueueExists    = awserr.New(http.StatusBadRequest, "QueueAlreadyExists", "")
	errDenied         = awserr.New(http.StatusForbidden, "AccessDenied", "")
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
	errDenied.Code:       "com.amazon.coral.service#AccessDeniedException",
	errInvalidValue.Code: "com.amazon.coral.service#InvalidParameterValueException", errMissing.Code: "com.amazonaws.sqs#MissingRequiredParameterException",
}

// refused returns an error like e with a message.
func refused(e *awserr.Error, format string, args ...any) *awserr.Error {
	return awserr.Newf(e.Status, e.Code, format, args...)
}

// unserved returns the error for a feature that the fake does not implement.
func unserved(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusNotImplemented, "NotImplemented", format, args...)
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
	action, isJSON := strings.CutPrefix(target, targetPrefix)
	c := Call{Action: action, query: !isJSON}
	if !isJSON {
		c.Action = form.Get("Action")
	}
	switch {
	case !slices.Contains(Operations(), "sqs:"+c.Action): // its parameters do not matter
		return c, nil
	case isJSON:
		return c, c.readJSON(body)
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
		return unserved("The parameter %s of %s is not supported by this fake.", field, c.Action)
	}
	return awserr.New(http.StatusBadRequest, "SerializationException", "The request body is not valid JSON for this operation.")
}

// readForm reads the parameters of the Query protocol by translating them to JSON. Elements of lists are numbered.
func (c *Call) readForm(form url.Values) error {
	input, names, attributes := map[string]any{}, map[string]string{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		head, index, numbered := strings.Cut(key, ".")
		number, err := strconv.Atoi(form.Get(key))
		switch name, isName := strings.CutSuffix(index, ".Name"); {
		case head == "Action" || head == "Version" || strings.HasPrefix(head, "X-Amz-"):
		case head == "Attribute" && isName:
			names[name] = form.Get(key)
		case head == "Attribute": // its name is before it
			attributes[names[strings.TrimSuffix(index, ".Value")]] = form.Get(key)
			input["Attributes"] = attributes
		case numbered:
			list, _ := input[head+"s"].([]string)
			input[head+"s"] = append(list, form.Get(key))
		case slices.Contains(numbers, head) && err != nil:
			return refused(errInvalidValue, "Value %s for parameter %s is invalid. Reason: Must be a number.", form.Get(key), head)
		case slices.Contains(numbers, head):
			input[head] = number
		default:
			input[head] = form.Get(key)
		}
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("translate the parameters of %s: %w", c.Action, err)
	}
	return c.readJSON(raw)
}

// numbers are the parameters that are numbers.
var numbers = []string{"MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds"}

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

const contentJSON = "application/x-amz-json-1.0"

// Encode returns the body of the response with a result, and its content type.
func (c Call) Encode(result any, requestID string) (body []byte, contentType string, err error) {
	switch {
	case c.query:
		body, err = iamapi.Encode(c.Action, "sqs", result, requestID)
		return body, "text/xml", err
	case result == nil:
		return []byte("{}"), contentJSON, nil
	}
	body, err = json.Marshal(result)
	return body, contentJSON, err
}

// WriteError responds with an error.
func (c Call) WriteError(w http.ResponseWriter, e *awserr.Error, requestID string) {
	if c.query {
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(e.Status)
		_, _ = w.Write(iamapi.ErrorXML(e, "sqs", requestID)) // fails only if the client has disconnected
		return
	}
	fault := "Sender"
	if e.Status >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	w.Header().Set("Content-Type", contentJSON)
	w.Header().Set("X-Amzn-Query-Error", e.Code+";"+fault)
	w.WriteHeader(e.Status)
	shape := cmp.Or(shapes[e.Code], "com.amazonaws.sqs#"+e.Code)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": shape, "message": e.Message}) // fails only if the client has disconnected
}
