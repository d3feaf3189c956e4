import { Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType } from '../graphql/body.ts';
import type { AddTypes, Builder } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { enumType, recordType } from '../graphql/record.ts';
import * as webhooks from './service.ts';
import * as wire from './wire.ts';

function addDeliveries(builder: Builder) {
  const delivery = recordType(builder, 'WebhookDelivery', wire.deliveryRecord, wire.toDeliveryRecord);
  const filter = filterType(builder, 'WebhookDeliveryFilter', 'Which deliveries', wire.deliveryFilter);
  return { delivery, deliveries: connectionType(builder, delivery, webhooks.deliveryList), filter };
}

function addWebhook(builder: Builder) {
  enumType(builder, wire.eventKind);
  enumType(builder, wire.messageKind);
  enumType(builder, wire.disabledReason);
  const { delivery, deliveries, filter } = addDeliveries(builder);
  const webhook = recordType(
    builder,
    'Webhook',
    wire.webhookRecord,
    wire.toWebhookRecord,
    nodeOf('webhook', ({ context, viewer }, id) => webhooks.findWebhook(context.db, viewer, id)),
  );
  builder.objectField(webhook, 'deliveries', (t) =>
    t.field({
      type: deliveries,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: `Attempts of the last ${webhooks.keptDays} days with their answers, the latest first.`,
      resolve: ({ id }, { filter: wanted, ...page }, { context, viewer }) =>
        webhooks.listDeliveries(context.db, viewer, id, given(wanted), pageOf(webhooks.deliveryList, page)),
    }),
  );
  const withSecret = builder.objectRef<webhooks.WithSecret>('WebhookWithSecret').implement({
    description: 'A webhook with the secret that was just made.',
    fields: (t) => ({
      secret: t.exposeString('secret', {
        description: 'The key that signs messages, beginning with `whsec_`. It is shown only this once.',
      }),
      webhook: t.field({ type: webhook, description: 'The webhook.', resolve: ({ webhook: made }) => made }),
    }),
  });
  return { webhook, delivery, withSecret };
}

export const addTypes: AddTypes = (builder) => {
  const { webhook, delivery, withSecret } = addWebhook(builder);
  builder.queryField('webhooks', (t) =>
    t.field({
      type: connectionType(builder, webhook, webhooks.webhookList, { isCounted: true }),
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The webhooks of the tenant by id, with the state of their deliveries; for Admins.',
      resolve: (_root, page, { context, viewer }) =>
        webhooks.listWebhooks(context.db, viewer, pageOf(webhooks.webhookList, page)),
    }),
  );
  const union = (name: string) => ({
    name: `${name}Result`,
    description: 'The result, or why the request was refused.',
  });
  builder.mutationFields((t) => {
    const idOnly = { id: idArgument(t.arg, 'webhook', { required: true, description: 'The id of the webhook.' }) };
    const named = { ...idOnly, version: t.arg.int({ required: true, description: 'The version that was read.' }) };
    const input = (name: string, schema: Parameters<typeof bodyType>[2], description: string) =>
      t.arg({ type: bodyType(builder, name, schema), required: true, description });
    return {
      createWebhook: t.field({
        type: withSecret,
        errors: { types: [Conflict, Forbidden, InvalidInput], union: union('CreateWebhook') },
        args: { input: input('CreateWebhookInput', wire.newWebhook, 'The webhook to create.') },
        description: 'Creates a webhook, to which events of these kinds are sent from now on; for Admins.',
        resolve: (_root, args, call) => webhooks.createWebhook(call.context, call, args.input as webhooks.NewWebhook),
      }),
      changeWebhook: t.field({
        type: webhook,
        errors: {
          types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
          union: union('ChangeWebhook'),
        },
        args: { ...named, input: input('ChangeWebhookInput', wire.webhookChanges, 'The changes.') },
        description:
          'Changes a webhook. If it is enabled again, it continues where it was, with waiting events first. For Admins.',
        resolve: (_root, { id, version, ...args }, call) =>
          webhooks.changeWebhook(call.context, call, id, [version], args.input as webhooks.WebhookChanges),
      }),
      deleteWebhook: t.field({
        type: webhook,
        errors: { types: [Forbidden, NotFound, PreconditionFailed], union: union('DeleteWebhook') },
        args: named,
        description: 'Deletes a webhook with its waiting events, and returns it. For Admins.',
        resolve: (_root, { id, version }, call) => webhooks.deleteWebhook(call.context.db, call, id, [version]),
      }),
      rotateWebhookSecret: t.field({
        type: withSecret,
        errors: { types: [Forbidden, InvalidInput, NotFound, PreconditionFailed], union: union('RotateWebhookSecret') },
        args: {
          ...named,
          input: input('RotateWebhookSecretInput', wire.rotation, 'How long the previous secret also signs.'),
        },
        description: 'Makes a new secret; the previous one also signs for some hours. For Admins.',
        resolve: (_root, { id, version, ...args }, call) =>
          webhooks.rotateSecret(
            call.context,
            call,
            id,
            [version],
            (args.input as { overlapHours: number }).overlapHours,
          ),
      }),
      testWebhook: t.field({
        type: delivery,
        errors: { types: [Forbidden, LimitExceeded, NotFound], union: union('TestWebhook') },
        args: idOnly,
        description: `Sends a test message at once and waits for the answer, ${webhooks.mostTestsPerMinute} times a minute at most; for Admins.`,
        resolve: (_root, { id }, call) => webhooks.testWebhook(call.context, call, id),
      }),
      replayWebhook: t.field({
        type: webhook,
        errors: {
          types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
          union: union('ReplayWebhook'),
        },
        args: { ...named, input: input('ReplayWebhookInput', wire.replay, 'From where.') },
        description: 'Sends all events after a place in the feed of changes, again or for the first time; for Admins.',
        resolve: (_root, { id, version, ...args }, call) =>
          webhooks.replayWebhook(
            call.context.db,
            call,
            id,
            [version],
            (args.input as { cursor: string | null }).cursor,
          ),
      }),
    };
  });
};
