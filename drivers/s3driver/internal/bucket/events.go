// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// replaceEvents sets the driver's notification, or removes it if there is none in want. It keeps the notifications of an
// administrator, which are in the same document.
func (s *Store) replaceEvents(ctx context.Context, name string, want params.Bucket, region func(*s3.Options)) error {
	if !s.QueueEvents {
		return nil
	}
	input := &s3.PutBucketNotificationConfigurationInput{Bucket: &name}
	found, err := s.API.GetBucketNotificationConfiguration(ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: &name}, region)
	if err == nil {
		own := func(queue types.QueueConfiguration) bool { return aws.ToString(queue.Id) == params.EventsID }
		input.NotificationConfiguration = &types.NotificationConfiguration{
			EventBridgeConfiguration: found.EventBridgeConfiguration, LambdaFunctionConfigurations: found.LambdaFunctionConfigurations,
			QueueConfigurations: slices.DeleteFunc(found.QueueConfigurations, own), TopicConfigurations: found.TopicConfigurations,
		}
		if want.Events != nil {
			input.NotificationConfiguration.QueueConfigurations = append(input.NotificationConfiguration.QueueConfigurations, *want.Events)
		} else {
			input.SkipDestinationValidation = aws.Bool(true) // another destination may no longer exist
		}
		_, err = s.API.PutBucketNotificationConfiguration(ctx, input, region)
	}
	switch {
	case !apierror.Unsupported(err):
		return err
	case want.Events == nil:
		return nil
	default:
		return driverkit.InvalidArgument("the store does not support parameter %s, or one of the event types: bucket %s cannot have it", params.KeyEventQueue, name).WithDetail(err)
	}
}

// compareEvents requires the requested notification, with any ID, and ignores others.
func (s *Store) compareEvents(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if want.Events == nil {
		return nil, nil
	}
	out, err := s.API.GetBucketNotificationConfiguration(ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: &name}, inRegion(region))
	if err != nil && !apierror.Unsupported(err) {
		return nil, err
	}
	requested := func(queue types.QueueConfiguration) bool {
		filtered := queue.Filter != nil && queue.Filter.Key != nil && len(queue.Filter.Key.FilterRules) > 0
		slices.Sort(queue.Events)
		return !filtered && aws.ToString(queue.QueueArn) == aws.ToString(want.Events.QueueArn) && slices.Equal(queue.Events, want.Events.Events)
	}
	if err == nil && slices.ContainsFunc(out.QueueConfigurations, requested) {
		return nil, nil
	}
	return []string{"it does not send these events to the queue"}, nil
}
