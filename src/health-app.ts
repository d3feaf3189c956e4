/**
 * What every HTTP application has. A process of the role Worker serves nothing else, and does not load the routes of REST and
 * GraphQL.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Context } from './context.ts';
import { type DomainError, NotFound } from './errors.ts';
import type { GraphqlServer } from './graphql/server.ts';
import { normalizeAddress } from './http/networks.ts';
import { schemesOf } from './http/schemes.ts';
import { handleErrors, type InOtherForm } from './rest/errors.ts';
import { type Health, openHealth } from './rest/health.ts';
import { identifyRequests } from './rest/request.ts';

/** What server.ts connects to its HTTP server. */
export type App = {
  handler: RequestListener;
  express: Express;
  /** Opens WebSockets; absent in a process that serves none. */
  upgrades?: GraphqlServer['upgrades'];
  /** Closes the WebSockets and records the notifications that mail servers have sent. */
  close(): Promise<void>;
};

/** Sets the security headers of helmet. They depend on no request, so they are computed once. */
function guardBrowsers(): RequestHandler {
  const guards = new Map<string, string>();
  const collector = {
    setHeader: (name: string, value: string) => guards.set(name, value),
    removeHeader() {},
  };
  helmet({
    strictTransportSecurity: false,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
  })({} as IncomingMessage, collector as unknown as ServerResponse, () => {});
  return (_request, response, next) => {
    response.setHeaders(guards);
    next();
  };
}

/** An Express application with the handlers that run before every route. `first` are those that only call `next`. */
export function createExpress(context: Context, health: Health): { app: Express; first: RequestHandler[] } {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.set('trust proxy', context.config.TrustProxy);
  const trusts = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  // A proxy may have written a port beside the address of another one, too.
  app.set('trust proxy', (address: string, hop: number) => trusts(normalizeAddress(address), hop));
  const { timeRequests, router } = openHealth(context, health);
  const first = [identifyRequests(context.log), guardBrowsers(), timeRequests];
  app.use(...first, router);
  return { app, first };
}

/** Adds what runs after every route: the 404 answer and the error handler, which it returns. */
export function finish(
  app: Express,
  context: Context,
  forms: { membersOf?: (error: DomainError) => object; inOtherForm?: InOtherForm } = {},
): ErrorRequestHandler {
  app.use((request) => {
    const remedy = request.path.includes('//') ? ' Write one slash where it has several.' : '';
    throw new NotFound(`There is nothing at ${request.path}.${remedy}`);
  });
  const onError = handleErrors(context.log, { schemes: schemesOf(context.config), ...forms });
  app.use(onError);
  return onError;
}

/** Health and metrics only, for a process of the role Worker. */
export function createHealthApp(context: Context, health: Health): App {
  const { app } = createExpress(context, health);
  finish(app, context);
  return { handler: app, express: app, close: async () => {} };
}
