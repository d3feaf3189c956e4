/** The HTTP surface, read from top to bottom. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import * as availability from './availability/rest.ts';
import * as bookings from './bookings/rest.ts';
import * as calendarFeed from './calendar-feed/rest.ts';
import * as changes from './changes/rest.ts';
import type { Context } from './context.ts';
import * as displays from './displays/rest.ts';
import { NotFound } from './errors.ts';
import { createGraphqlServer, type GraphqlServer } from './graphql/server.ts';
import { authenticate, authenticateCall, openIdentity, schemesOf } from './identity/authenticate.ts';
import { identityPaths, identityRoutes, routes as pinRoutes } from './identity/rest.ts';
import * as lessons from './lessons/rest.ts';
import * as mail from './mail-inbox/rest.ts';
import * as openingHours from './opening-hours/rest.ts';
import { handleErrors } from './rest/errors.ts';
import { type Health, healthRoutes } from './rest/health.ts';
import { countRequest, limitPairings, limitRequests } from './rest/limits.ts';
import { describeApi } from './rest/openapi.ts';
import { healthPaths } from './rest/openapi-health.ts';
import { identifyRequests } from './rest/request.ts';
import { mountRoutes } from './rest/route.ts';
import * as tenants from './tenants/rest.ts';
import { pageRoutes } from './web/pages.ts';
import { swaggerRoutes } from './web/swagger.ts';

/** For the program that starts. */
export { claimPepper, hasRightPepper } from './identity/authenticate.ts';

/** What an HTTP server needs of us. */
export type App = {
  handler: Express;
  /** How WebSockets are opened; absent where there are none. */
  upgrades?: GraphqlServer['upgrades'];
  /** Ends the WebSockets, and records what mail servers have sent. */
  close(): Promise<void>;
};

/** Everything below `/{mandator}/api`; what is asked for most comes first, as Express looks at one after the other. */
const routes = [
  ...bookings.routes,
  ...tenants.routes,
  ...pinRoutes,
  ...openingHours.routes,
  ...availability.routes,
  ...calendarFeed.routes,
  ...lessons.routes,
  ...changes.routes,
  ...displays.routes,
];

/** The OpenAPI document of this program. @param roots how clients see the server */
export function apiDocument(roots: { BaseUrl: string; IdpUrl: string }) {
  return describeApi([...routes, ...displays.pairingRoutes], {
    atRoot: [identityPaths, healthPaths, mail.describedPaths],
    problemMembers: bookings.occupiedMembers,
    roots,
  });
}

/** Headers that keep browsers from trusting an answer too far: made once, as they depend on no request. */
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

/** What stands before every route. */
function createExpress(context: Context, health: Health): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.set('trust proxy', context.config.TrustProxy);
  app.use(identifyRequests(context.log), guardBrowsers());
  app.use(healthRoutes(context, health));
  return app;
}

/** What stands behind every route. */
function finish(app: Express, context: Context): Express {
  app.use((request) => {
    throw new NotFound(`There is nothing at ${request.path}.`);
  });
  app.use(handleErrors(context.log, { schemes: schemesOf(context.config), membersOf: bookings.toOccupiedMembers }));
  return app;
}

/** Health and metrics alone, for a process that only works on the queue. */
export function createHealthApp(context: Context, health: Health): App {
  const handler = finish(createExpress(context, health), context);
  return { handler, close: async () => {} };
}

/** What /metrics tells of streams. */
const streamFigures = (graphql: () => GraphqlServer): NonNullable<Health['gauges']> => ({
  roomgate_streams_open: {
    help: 'GraphQL streams that are open, over SSE and WebSocket together',
    read: () => graphql().streamCount(),
  },
  roomgate_streams_stalled: {
    help: 'GraphQL streams over SSE whose readers take nothing at the moment',
    read: () => graphql().stalledCount(),
  },
  roomgate_streams_cut_total: {
    help: 'GraphQL streams over SSE, and WebSockets, that were cut because nobody read them',
    read: () => graphql().cutCount(),
  },
});

/** Everything: identity, then what is below a tenant. */
export function createApp(context: Context, health: Health): App {
  const webhook = mail.openWebhook(context);
  const gauges = {
    ...health.gauges,
    ...streamFigures(() => graphql),
    ...displays.figures(context),
    ...webhook.figures,
  };
  const app = createExpress(context, { ...health, gauges });
  const identity = openIdentity(context);
  const graphql = createGraphqlServer(context, {
    authenticate: (mandator, credentials) => authenticateCall(identity, mandator, credentials),
    // Express's own way to read TrustProxy, for requests that it does not handle.
    addressOf: (request) => Object.setPrototypeOf(request, app.request).ip ?? '',
    countRequest: (viewer, uses) => countRequest(context, viewer, uses),
  });
  const authenticated = authenticate(identity);
  const limited = limitRequests(context);
  // One handler, because Express reads the path anew for each.
  const door: RequestHandler = (request, response, next) =>
    authenticated(request, response, () => limited(request, response, next));
  // Mail servers have no credential but their callback's secret; below, `api` and `WebServices` would be tenants.
  app.use(webhook.router);
  // Before the many routes of REST, each of which would look at the path; what is no call comes behind them.
  app.post('/:mandator/graphql', door, graphql.handler);
  app.get(`/:mandator/api${calendarFeed.feedPath}`, calendarFeed.admitTokens(context));
  app.use(`/:mandator/api${displays.pairingsPath}`, limitPairings(context));
  app.use(mountRoutes(context, displays.pairingRoutes));
  app.use('/:mandator/api', door);
  app.use(mountRoutes(context, routes));
  app.get('/:mandator/graphql', async (request, response, next) => {
    if (!(await graphql.explorer(request, response))) next();
  });
  app.use('/:mandator/graphql', door, graphql.handler);
  app.use(identityRoutes(identity));
  app.use(pageRoutes());
  if (context.config.SwaggerEnabled) app.use(swaggerRoutes(context.config, () => apiDocument(context.config)));
  return {
    handler: finish(app, context),
    upgrades: graphql.upgrades,
    async close() {
      await Promise.all([graphql.close(), webhook.close()]);
    },
  };
}
