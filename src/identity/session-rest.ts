/** `/{mandator}/session`: signing in to the console, who is signed in, and signing out (contract 12). */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Viewer } from '../context.ts';
import { MethodNotAllowed, NotAuthenticated, NotFound } from '../errors.ts';
import { takesPins } from '../http/schemes.ts';
import { readInput } from '../input.ts';
import { isMandator } from '../names.ts';
import { readJson } from '../rest/body.ts';
import { writeJson } from '../rest/json.ts';
import { anonymousSender, limitRequests, limitTokenRequests } from '../rest/limits.ts';
import {
  type BegunSession,
  checkOwnPage,
  cookiesOf,
  endSession,
  type Identity,
  readTerms,
  sessionOf,
  signInByPin,
  viewerOfSession,
  writeCookie,
} from './service.ts';
import { newSession, toSessionRecord } from './session-wire.ts';

const sessionPath = '/:mandator/session';
const mostBodyBytes = 4_096;
/** Sessions that one sign-out ends, where another site of the domain has planted cookies beside ours. */
const mostEnded = 5;

const mandatorOf = (request: Request) => String(request.params['mandator']);

export function sessionRoutes(identity: Identity): Router {
  const router = Router();
  const { context } = identity;
  const { config } = context;
  const limitSignIns = limitTokenRequests(context);
  const limitCalls = limitRequests(context);

  /** Ends the session that the browser has had: no cookie outlives the sign-in after it. */
  async function endBefore(request: Request): Promise<void> {
    const before = sessionOf(request, config);
    if (before && 'id' in before && before.id) await endSession(identity, before.id);
  }

  /** Gives the browser its cookie. */
  const keep = (request: Request, response: Response, { id }: BegunSession) =>
    response.append(
      'Set-Cookie',
      writeCookie(config, mandatorOf(request), { name: 'session', value: id, sameSite: 'Strict' }),
    );

  async function describe(viewer: Viewer) {
    return toSessionRecord(viewer, await readTerms(context.db, viewer), config.Sessions.IdleMinutes);
  }

  const fromConsole: RequestHandler = (request, _response, next) => {
    checkOwnPage(request, config);
    next();
  };

  /** Sets the viewer of the session. @throws NotAuthenticated; NotFound for another tenant's */
  const admit: RequestHandler = async (request, response, next) => {
    const session = sessionOf(request, config);
    if (!session || !('id' in session)) throw new NotAuthenticated('Nobody is signed in here; sign in to the console.');
    const viewer = await viewerOfSession(identity, session.id);
    if (viewer.mandator !== mandatorOf(request).toLowerCase())
      throw new NotFound('There is no such tenant, or the session belongs to another one.');
    response.locals['viewer'] = viewer;
    next();
  };

  router.use(sessionPath, (request, response, next) => {
    if (!isMandator(mandatorOf(request))) return next('router');
    response.set('Cache-Control', 'no-store').vary('Cookie');
    next();
  });
  router.get(sessionPath, fromConsole, admit, limitCalls, async (request, response) => {
    const viewer = response.locals['viewer'] as Viewer;
    await identity.noteUse(viewer);
    writeJson(request, response, await describe(viewer));
  });
  router.post(sessionPath, fromConsole, limitSignIns, async (request, response) => {
    const limits = { ...config.Limits, BodyBytes: mostBodyBytes };
    const { Pin } = readInput(newSession, await readJson(request, {}, anonymousSender(request.ip), limits));
    const begun = await signInByPin(identity, mandatorOf(request), { pin: Pin, ip: request.ip ?? '' });
    await endBefore(request);
    keep(request, response, begun);
    response.status(201);
    writeJson(request, response, await describe(begun.viewer));
  });
  router.delete(sessionPath, fromConsole, async (request, response) => {
    for (const id of cookiesOf(request, config, 'session').slice(0, mostEnded)) await endSession(identity, id);
    const cleared = { name: 'session', value: '', sameSite: 'Strict', seconds: 0 } as const;
    response
      .append('Set-Cookie', writeCookie(config, mandatorOf(request), cleared))
      .status(204)
      .end();
  });
  router.get(`${sessionPath}/options`, (request, response) => {
    writeJson(request, response, { Pin: takesPins(config), Provider: null });
  });
  router.all(sessionPath, (request) => {
    throw new MethodNotAllowed(`${request.method} is not possible here; use GET, POST or DELETE.`, [
      'GET',
      'HEAD',
      'POST',
      'DELETE',
    ]);
  });
  return router;
}
