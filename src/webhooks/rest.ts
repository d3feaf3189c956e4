import { z } from 'zod';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { createdAnswer, recordRoutes } from '../rest/record-routes.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import * as webhooks from './service.ts';
import * as wire from './wire.ts';

export { eventMessages } from './openapi-rest.ts';

const path = '/v1.0/webhooks';
const params = z.object({ id: id('webhook', 'The id of the webhook.') });
const forAdmins = 'Only an Admin may manage webhooks and see their deliveries.';
const conflict = `Another webhook has this name, or the tenant already has ${webhooks.mostWebhooks}.`;

export const routes: Route[] = [
  ...recordRoutes({
    path,
    noun: 'webhook',
    params,
    refusals: { read: forAdmins, write: forAdmins },
    list: {
      description: 'The webhooks of the tenant by id, with the state of their deliveries. For Admins.',
      of: webhooks.webhookList,
      run: (db, viewer, _filter, page) => webhooks.listWebhooks(db, viewer, page),
    },
    read: { run: webhooks.getWebhook },
    record: { schema: wire.webhookRecord, example: wire.example, of: wire.toWebhookRecord },
    change: {
      description: 'If the webhook is enabled again, it continues where it was, with waiting events first.',
      conflict,
      schema: wire.webhookChanges,
      example: { Enabled: true },
      run: (_db, call, webhookId, versions, changes, context) =>
        webhooks.changeWebhook(context, call, webhookId, versions, changes),
    },
    remove: {
      description: 'Its waiting events are never sent, and its deliveries are deleted.',
      run: webhooks.deleteWebhook,
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Make a webhook',
    description:
      'Sends events of these kinds to an address from now on, by the Standard Webhooks specification. `Secret` signs them; it is shown only this once. For Admins.',
    body: {
      schema: wire.newWebhook,
      example: { Name: wire.example.Name, Url: wire.example.Url, Kinds: wire.example.Kinds },
    },
    answers: {
      201: {
        description: 'The webhook with its secret; `Location` is its address.',
        body: wire.secretRecord,
        example: wire.secretExample,
        headers: ['Location', 'ETag'],
      },
    },
    problems: { 403: forAdmins, 409: conflict },
    handle: async (context, call) => {
      const made = await webhooks.createWebhook(context, call, toFields(call.body));
      return createdAnswer(context, call, path, wire.toSecretRecord(made));
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/rotate`,
    summary: 'Replace the secret of a webhook',
    description:
      'Makes a new secret, which is shown only this once. Until `FormerSecretUntil`, messages have two signatures, one with each secret. For Admins.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.rotation, example: { OverlapHours: 24 }, mayBeEmpty: true },
    answers: {
      200: {
        description: 'The webhook with its new secret.',
        body: wire.secretRecord,
        example: { ...wire.secretExample, FormerSecretUntil: '2026-11-21T08:00:00.000Z', Version: 2 },
        headers: ['ETag'],
      },
    },
    problems: { 403: forAdmins, ...versionProblems },
    handle: async (context, call) => {
      const { OverlapHours } = call.body;
      const versions = readIfMatch(call.headers);
      const made = await webhooks.rotateSecret(context, call, call.params.id, versions, OverlapHours);
      return recordAnswer(wire.toSecretRecord(made));
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/test`,
    summary: 'Send a test message',
    description: `Sends one message of the type \`webhook.test\` at once, even if the webhook is disabled, and waits for the answer. At most ${webhooks.mostTestsPerMinute} times a minute. For Admins.`,
    params,
    answers: {
      200: {
        description: 'The delivery with its answer.',
        body: wire.deliveryRecord,
        example: { ...wire.deliveryExample, Kind: 'Test', Subject: null, Cursor: null },
      },
    },
    problems: { 403: forAdmins, 429: `More than ${webhooks.mostTestsPerMinute} test messages in a minute.` },
    handle: async (context, call) => {
      const delivery = await webhooks.testWebhook(context, call, call.params.id);
      return { status: 200, body: wire.toDeliveryRecord(delivery) };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/replay`,
    summary: 'Send events again',
    description:
      'Sends all events after a place in the feed of changes, again or for the first time. Waiting events are dropped: those after that place are sent again. For Admins.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.replay, example: { Cursor: 'now' }, mayBeEmpty: true },
    answers: {
      200: {
        description: 'The webhook as it is now.',
        body: wire.webhookRecord,
        example: wire.example,
        headers: ['ETag'],
      },
    },
    problems: {
      403: forAdmins,
      ...versionProblems,
      409: 'Changes after the cursor are no longer kept, or were lost when the database was restored from a backup.',
    },
    handle: async ({ db }, call) => {
      const { Cursor } = call.body;
      const versions = readIfMatch(call.headers);
      const replayed = await webhooks.replayWebhook(db, call, call.params.id, versions, Cursor);
      return recordAnswer(wire.toWebhookRecord(replayed));
    },
  }),
  listRoute({
    path: `${path}/:id/deliveries`,
    summary: 'List deliveries of a webhook',
    description: `Attempts of the last ${webhooks.keptDays} days with their answers, the latest first. For Admins.`,
    params,
    filter: wire.deliveryFilter,
    page: pageAnswer(
      'One page of deliveries.',
      listOf(wire.deliveryRecord, 'WebhookDeliveryList'),
      wire.deliveryExample,
    ),
    problems: { 403: forAdmins },
    of: webhooks.deliveryList,
    run: (db, viewer, filter, page, named) => webhooks.listDeliveries(db, viewer, named.id, filter, page),
    toRecord: wire.toDeliveryRecord,
  }),
];
