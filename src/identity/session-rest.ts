/** `/{mandator}/session`: signing in to the console, by PIN or at a provider, who is signed in, and signing out (contract 12). */
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import type { Viewer } from '../context.ts';
import { MethodNotAllowed, NotAuthenticated, NotFound } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import { readInput } from '../input.ts';
import { isMandator } from '../names.ts';
import { readJson } from '../rest/body.ts';
import { writeJson } from '../rest/json.ts';
import { anonymousSender, limitRequests, limitTokenRequests } from '../rest/limits.ts';
import { readQuery } from '../rest/query.ts';
import {
  type BegunSession,
  beginSignIn,
  checkOwnPage,
  cookiesOf,
  endSession,
  endSessionsOf,
  flowSeconds,
  type Identity,
  readTerms,
  SignInFailed,
  sessionOf,
  signInByPin,
  signInByProvider,
  viewerOfSession,
  waysToSignIn,
  writeCookie,
} from './service.ts';
import { newSession, sessionEnd, toSessionRecord } from './session-wire.ts';

const sessionPath = '/:mandator/session';
const startPath = `${sessionPath}/start`;
const returnPath = `${sessionPath}/return`;
/** The console, relative to the URLs of a sign-in at the provider. */
const pageBeside = '../console';
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

  /** Ends the session that the browser had before, so that its cookie does not outlive the new sign-in. */
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

  /** The cookie of a browser that is at the provider. Not `Strict`: the answer comes from the provider's site. */
  const flowCookie = (value: string, seconds: number) =>
    ({ name: 'sign_in', value, sameSite: 'Lax', seconds }) as const;

  /** Guards the routes that a browser takes to the provider and back. */
  const toPage: RequestHandler = (request, response, next) => {
    if (waysToSignIn(identity).provider === undefined)
      throw new NotFound('Sign-in at an outside provider is not available here; sign in at the console by PIN.');
    limitSignIns(request, response, next);
  };

  /** Errors lead to the page of the console, which shows what went wrong. */
  const endAtPage: ErrorRequestHandler = (error, request, response, next) => {
    const known = asDomainError(error);
    if (response.headersSent || (known && ['NotFound', 'MethodNotAllowed'].includes(known.code))) return next(error);
    const fault =
      error instanceof SignInFailed ? error.fault : known?.code === 'LimitExceeded' ? known.code : 'Unavailable';
    const trace = String(response.locals['requestId']);
    const line = { requestId: trace, mandator: mandatorOf(request), fault, err: String(error) };
    context.log[error instanceof SignInFailed || known ? 'warn' : 'error'](line, 'sign-in failed');
    // The flow of another tab may still be under way.
    if (fault !== 'SignInExpired' && request.baseUrl.endsWith('/return'))
      response.append('Set-Cookie', writeCookie(config, mandatorOf(request), flowCookie('', 0)));
    response.redirect(303, `${pageBeside}?${new URLSearchParams({ fault, trace })}`);
  };

  async function describe(viewer: Viewer) {
    return toSessionRecord(viewer, await readTerms(context.db, viewer), config.Sessions.IdleMinutes);
  }

  const fromConsole: RequestHandler = (request, _response, next) => {
    checkOwnPage(request, config);
    next();
  };

  /** The viewer of the session. @throws NotAuthenticated; NotFound for another tenant's */
  async function readViewer(request: Request): Promise<Viewer> {
    const session = sessionOf(request, config);
    if (!session || !('id' in session)) throw new NotAuthenticated('Nobody is signed in here; sign in to the console.');
    const viewer = await viewerOfSession(identity, session.id);
    if (viewer.mandator !== mandatorOf(request).toLowerCase())
      throw new NotFound('There is no such tenant, or the session belongs to another one.');
    return viewer;
  }
  const admit: RequestHandler = async (request, response, next) => {
    response.locals['viewer'] = await readViewer(request);
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
    const { Everywhere } = readQuery(context, sessionEnd, request, response, sessionPath);
    if (Everywhere) await endSessionsOf(identity, await readViewer(request));
    for (const id of cookiesOf(request, config, 'session').slice(0, mostEnded)) await endSession(identity, id);
    const cleared = { name: 'session', value: '', sameSite: 'Strict', seconds: 0 } as const;
    response
      .append('Set-Cookie', writeCookie(config, mandatorOf(request), cleared))
      .status(204)
      .end();
  });
  router.get(`${sessionPath}/options`, (request, response) => {
    const { pin, provider } = waysToSignIn(identity);
    const Provider = provider === undefined ? null : { Name: provider, Start: 'session/start' };
    writeJson(request, response, { Pin: pin, Provider });
  });
  router.get(startPath, toPage, async (request, response) => {
    const { address, flow } = await beginSignIn(
      identity,
      mandatorOf(request),
      cookiesOf(request, config, 'session').slice(0, mostEnded),
    );
    response.append('Set-Cookie', writeCookie(config, mandatorOf(request), flowCookie(flow, flowSeconds)));
    response.redirect(303, address);
  });
  router.get(returnPath, toPage, async (request, response) => {
    const flows = cookiesOf(request, config, 'sign_in');
    const { search } = new URL(request.originalUrl, 'http://return.invalid');
    // Of two, one may have been planted by another site of the domain.
    const answer = { query: search, flow: flows.length === 1 ? (flows[0] ?? '') : '' };
    const begun = await signInByProvider(identity, mandatorOf(request), answer);
    for (const id of begun.before) await endSession(identity, id);
    response.append('Set-Cookie', writeCookie(config, mandatorOf(request), flowCookie('', 0)));
    keep(request, response, begun);
    response.redirect(303, pageBeside);
  });
  router.use([startPath, returnPath], endAtPage);
  router.all([`${sessionPath}/options`, startPath, returnPath], (request) => {
    throw new MethodNotAllowed(request.method, ['GET', 'HEAD']);
  });
  router.all(sessionPath, (request) => {
    throw new MethodNotAllowed(request.method, ['GET', 'HEAD', 'POST', 'DELETE']);
  });
  return router;
}
