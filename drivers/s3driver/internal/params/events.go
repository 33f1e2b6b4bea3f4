// SPDX-License-Identifier: Apache-2.0

package params

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// EventsID is the ID of the driver's notification. A bucket can have others.
const EventsID = "cosi"

const defaultEventTypes = "s3:ObjectCreated:*,s3:ObjectRemoved:*"

// checkQueue accepts the ARNs of Amazon SQS and of MinIO's targets, whose part before the type is a name.
func checkQueue(value string) error {
	queue, err := arn.Parse(value)
	if err != nil || queue.Service != "sqs" || queue.AccountID == "" || queue.Resource == "" {
		return fmt.Errorf("is %q, but must be the ARN of a queue, such as arn:aws:sqs:us-east-1:111122223333:uploads", value)
	}
	return nil
}

func checkEventTypes(value string) error {
	for _, name := range eventTypes(value) {
		if !slices.Contains(name.Values(), name) {
			return fmt.Errorf("contains %q, but must be event types of S3, such as %s", name, defaultEventTypes)
		}
	}
	return nil
}

func eventTypes(value string) []types.Event {
	var names []types.Event
	for name := range strings.SplitSeq(value, ",") {
		names = append(names, types.Event(strings.TrimSpace(name)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func eventsOf(values driverkit.Values) *types.QueueConfiguration {
	queue := values[KeyEventQueue]
	if queue == "" {
		return nil
	}
	return &types.QueueConfiguration{
		Id: aws.String(EventsID), QueueArn: &queue, Events: eventTypes(cmp.Or(values[KeyEventTypes], defaultEventTypes)),
	}
}
