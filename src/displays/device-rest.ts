/** Devices over REST: Admins pair, list, change and revoke them; devices report their health. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import type { RestAnswer } from '../rest/answers.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { anonymousRoute, type DescribedAnswer, type Route, route } from '../rest/route.ts';
import { readIfMatch } from '../rest/versions.ts';
import * as wire from './device-wire.ts';
import * as displays from './service.ts';

export const path = '/v1.0/displays';
export const pairingsPath = `${path}/pairings`;
const params = z.object({ id: id('display', 'The Id of the display.') });
const forAdmins = { 403: 'Only an Admin may manage displays.' };
const forDevices = { 403: 'Only a paired display may do this.' };
const retired = 'A room or the location is not active.';
/** The ETag is the version, for If-Match, and a hash of the record, which also changes without a new version. */
function answerOf(display: displays.Display, more: { status?: number; location?: string } = {}): RestAnswer {
  const body = wire.toDisplayRecord(display);
  const etag = `"${body.Version}-${hash('sha1', JSON.stringify(body), 'base64url')}"`;
  return {
    status: more.status ?? 200,
    body,
    headers: { ETag: etag, ...(more.location !== undefined && { Location: more.location }) },
  };
}

const one = (description: string, example: object = wire.examples.display): DescribedAnswer => ({
  description,
  body: wire.displayRecord,
  example,
  headers: ['ETag'],
});

/** Called without a credential. */
export const pairingRoutes: Route[] = [
  anonymousRoute({
    method: 'POST',
    path: pairingsPath,
    summary: 'Ask to be paired',
    description: `For a device without a credential: it shows \`Code\`, and keeps \`Token\`, which becomes valid when an Admin confirms the code within ${displays.codeMinutes} minutes. 404 for an unknown tenant, 422 for a room or a location that is not in use there.`,
    body: { schema: wire.pairingRequest, example: wire.examples.pairingRequest, mayBeEmpty: true },
    answers: {
      201: {
        description: 'The code and the token.',
        body: wire.pairingRecord,
        example: wire.examples.pairing,
      },
    },
    handle: async (context, { request, body }) => {
      const mandator = String(request.params['mandator']);
      const pairing = await displays.requestPairing(context, mandator, toFields(body), request.ip ?? '');
      return { status: 201, body: wire.toPairingRecord(pairing) };
    },
  }),
];

const ownRoutes = [
  route({
    method: 'GET',
    path: `${path}/self`,
    summary: 'Read the calling display',
    description: 'For a device with its own token: its record, its rights and the rooms that it shows.',
    answers: { 200: one('The calling device.') },
    problems: forDevices,
    handle: async (context, { viewer }) => answerOf(await displays.getOwnDevice(context, viewer)),
  }),
  route({
    method: 'PUT',
    path: `${path}/self/health`,
    summary: 'Report the health of the calling display',
    description:
      'For a device with its own token, every few minutes. A display becomes silent when it is 10 minutes overdue; `GET changes` then reports it.',
    body: { schema: wire.healthReport, example: wire.examples.health },
    answers: { 204: { description: 'The report is stored in place of the last one.' } },
    problems: forDevices,
    handle: async (context, { viewer, body }) => {
      await displays.reportHealth(context, viewer, toFields(body));
      return { status: 204 };
    },
  }),
];

export const deviceRoutes: Route[] = [
  ...ownRoutes,
  listRoute({
    path,
    summary: 'List displays',
    description: 'By id, with the time when each was last heard from; including silent and revoked ones.',
    page: pageAnswer('One page of displays.', listOf(wire.displayRecord, 'DisplayList'), wire.examples.page),
    problems: forAdmins,
    of: displays.displayList,
    run: (db, viewer, _filter, page) => displays.listDevices(db, viewer, page),
    toRecord: wire.toDisplayRecord,
  }),
  route({
    method: 'POST',
    path,
    summary: 'Pair a display',
    description:
      'Confirms the code that a device shows: from then on its token is valid, for the rooms that are named here.',
    body: { schema: wire.newDisplay, example: wire.examples.new },
    answers: {
      201: { ...one('The display; `Location` is its address.'), headers: ['Location', 'ETag'] },
    },
    problems: { ...forAdmins, 409: retired },
    handle: async ({ db, config }, call) => {
      const display = await displays.pairDisplay(db, call, toFields(call.body));
      const location = `${config.BaseUrl}/${call.viewer.mandator}/api${path}/${display.id}`;
      return answerOf(display, { status: 201, location });
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read a display',
    params,
    answers: { 200: one('The display.') },
    problems: forAdmins,
    handle: async ({ db }, { viewer, params: { id } }) => answerOf(await displays.getDevice(db, viewer, id)),
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Change a display',
    description: 'Changes the members that are sent, only in the version of `If-Match`, and at once on every process.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.displayChanges, example: wire.examples.changes },
    answers: { 200: one('The display as it is now.', wire.examples.changed) },
    problems: { ...forAdmins, 409: `${retired} Or the display is revoked.` },
    handle: async ({ db }, call) => {
      const versions = readIfMatch(call.headers);
      return answerOf(await displays.changeDevice(db, call, call.params.id, versions, toFields(call.body)));
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Revoke a display',
    description: 'Its token is refused at once and its streams end. Repeating it changes nothing.',
    params,
    answers: { 200: one('The revoked display.', wire.examples.revoked) },
    problems: forAdmins,
    handle: async ({ db }, call) => answerOf(await displays.revokeDevice(db, call, call.params.id)),
  }),
];
