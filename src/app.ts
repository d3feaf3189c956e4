/** The HTTP surface, read from top to bottom. */
import type { RequestHandler } from 'express';
import * as audit from './audit/rest.ts';
import * as availability from './availability/rest.ts';
import * as bookings from './bookings/rest.ts';
import * as calendarFeed from './calendar-feed/rest.ts';
import * as changes from './changes/rest.ts';
import type { Context } from './context.ts';
import * as displays from './displays/rest.ts';
import * as erasure from './erasure/rest.ts';
import { createGraphqlServer, type GraphqlServer, graphqlFailure } from './graphql/server.ts';
import { type App, createExpress, finish } from './health-app.ts';
import * as holidays from './holidays/rest.ts';
import { authenticate, authenticateCall, openIdentity, sessionOf } from './identity/authenticate.ts';
import { identityPaths, identityRoutes, routes as pinRoutes, sessionPaths, sessionRoutes } from './identity/rest.ts';
import * as lessons from './lessons/rest.ts';
import * as mail from './mail/rest.ts';
import * as mailInbox from './mail-inbox/rest.ts';
import * as openingHours from './opening-hours/rest.ts';
import * as problems from './problems/rest.ts';
import { allowOrigins, corsPaths } from './rest/cors.ts';
import { entryPaths, entryRoutes } from './rest/entry.ts';
import type { Health } from './rest/health.ts';
import { openLane } from './rest/lane.ts';
import { countRequest, limitPairings, limitRequests } from './rest/limits.ts';
import { describeApi } from './rest/openapi.ts';
import { healthPaths } from './rest/openapi-health.ts';
import { traceRequests } from './rest/request.ts';
import { allowOnly, laneStops, mountRoutes } from './rest/route.ts';
import * as retirement from './retirement/rest.ts';
import * as tenants from './tenants/rest.ts';
import * as timetableFiles from './timetable-files/rest.ts';
import * as usage from './usage/rest.ts';
import { consoleRoutes } from './web/console.ts';
import { showEntry } from './web/entry.ts';
import { asksForPage, graphiqlRoutes } from './web/graphiql.ts';
import { logoRoutes } from './web/logo.ts';
import { pageRoutes } from './web/pages.ts';
import { swaggerRoutes } from './web/swagger.ts';
import * as webhooks from './webhooks/rest.ts';

/** The routes below `/{mandator}/api`. Express tries them in order, so the most requested come first. */
const routes = [
  ...bookings.routes,
  ...tenants.routes,
  ...pinRoutes,
  ...erasure.routes,
  ...retirement.routes,
  ...openingHours.routes,
  ...availability.routes,
  ...calendarFeed.routes,
  ...lessons.routes,
  ...timetableFiles.routes,
  ...changes.routes,
  ...displays.routes,
  ...audit.routes,
  ...usage.routes,
  ...mail.routes,
  ...holidays.routes,
  ...problems.routes,
  ...webhooks.routes,
];

/** The OpenAPI document of this program. @param roots how clients see the server */
export function apiDocument(roots: { BaseUrl: string; IdpUrl: string }) {
  return describeApi([...routes, ...displays.pairingRoutes], {
    atRoot: [entryPaths, identityPaths, sessionPaths, healthPaths, mailInbox.describedPaths],
    messages: webhooks.eventMessages,
    problemMembers: bookings.occupiedMembers,
    roots,
  });
}

/** The metrics of streams. */
const streamFigures = (graphql: () => GraphqlServer): NonNullable<Health['gauges']> => ({
  roomgate_streams_open: {
    help: 'Open GraphQL streams, over SSE and WebSocket together',
    read: () => graphql().streamCount(),
  },
  roomgate_streams_stalled: {
    help: 'GraphQL streams over SSE whose clients are not reading at the moment',
    read: () => graphql().stalledCount(),
  },
  roomgate_streams_cut_total: {
    help: 'GraphQL streams over SSE, and WebSockets, that were closed because their clients did not read',
    read: () => graphql().cutCount(),
  },
});

/** Calls `prepare` once a page was sent. */
const beforePages =
  (prepare: () => void): RequestHandler =>
  (_request, response, next) => {
    response.once('finish', () => {
      if (/^text\/html/.test(String(response.getHeader('Content-Type')))) prepare();
    });
    next();
  };

/** The type of every GraphQL answer, also of a refusal, depends on Accept. */
const ofAccept: RequestHandler = (_request, response, next) => {
  response.vary('Accept');
  next();
};

/** The whole application, for a process that serves clients. */
export function createApp(context: Context, health: Health): App {
  const callback = mailInbox.openCallback(context);
  const gauges = {
    ...health.gauges,
    ...streamFigures(() => graphql),
    ...displays.figures(context),
    ...callback.figures,
  };
  const { app, first } = createExpress(context, { ...health, gauges });
  const identity = openIdentity(context);
  const graphql = createGraphqlServer(context, {
    authenticate: (mandator, credentials) => authenticateCall(identity, mandator, credentials),
    // Express's own way to read TrustProxy, for requests that it does not handle.
    addressOf: (request) => Object.setPrototypeOf(request, app.request).ip ?? '',
    sessionOf: (request) => sessionOf(request, context.config, true),
    countRequest(viewer, uses) {
      countRequest(context, viewer, uses);
      void identity.noteUse(viewer);
    },
  });
  const authenticated = authenticate(identity);
  const limited = limitRequests(context);
  // One handler, because Express parses the path again for each.
  const door: RequestHandler = (request, response, next) =>
    authenticated(request, response, () => limited(request, response, next));
  const { Origins } = context.config.Cors;
  const cors = Origins.length > 0 ? [allowOrigins(Origins, routes)] : [];
  for (const handler of cors) app.use(corsPaths, handler);
  // Before the tenants' routes, which would read `api` and `WebServices` as a tenant. The callback's secret is its credential.
  app.use(callback.router);
  // For all methods: calendar programs that look for CalDAV hear 405, and not that a sign-in is missing.
  app.all(calendarFeed.feedPaths, calendarFeed.admitTokens(context));
  app.use(`/:mandator/api${displays.pairingsPath}`, limitPairings(context));
  app.use(mountRoutes(context, displays.pairingRoutes));
  app.use('/:mandator/api', door);
  app.use(mountRoutes(context, routes));
  app.get('/:mandator/graphql', (request, _response, next) => {
    graphql.upgrades.checkOrigin(request);
    next();
  });
  const schemaPath = '/:mandator/graphql/schema.graphql';
  app.get(schemaPath, door, graphql.schema).all(schemaPath, door, allowOnly(['GET', 'HEAD']));
  const { GraphiQLEnabled } = context.config;
  const allowsPage = allowOnly(['GET', 'HEAD', 'POST']);
  const allowsCalls = allowOnly(['POST']);
  app.options('/:mandator/graphql', ofAccept, door, (request, ...rest) =>
    (GraphiQLEnabled && asksForPage(request) ? allowsPage : allowsCalls)(request, ...rest),
  );
  if (GraphiQLEnabled) app.use(graphiqlRoutes(context.config));
  app.use('/:mandator/graphql', ofAccept, door, graphql.handler);
  app.use(identityRoutes(identity));
  app.use(sessionRoutes(identity));
  if (context.config.SwaggerEnabled) app.use(swaggerRoutes(context.config, () => apiDocument(context.config)));
  // Pages ask GraphQL as soon as they run.
  app.use(beforePages(graphql.prepare), consoleRoutes(context.config.Limits), pageRoutes(context.config.BaseUrl));
  app.use(logoRoutes((mandator) => tenants.findLogo(context, mandator)));
  app.use(entryRoutes(context.config, () => tenants.findOnlyTenant(context), showEntry));
  const onError = finish(app, context, { membersOf: bookings.toOccupiedMembers, inOtherForm: graphqlFailure });
  const stops = laneStops(context, door, routes, displays.pairingRoutes);
  stops.set('/graphql', {
    method: 'POST',
    pattern: '/:mandator/graphql',
    handler: graphql.handler,
    door(request, response, next) {
      ofAccept(request, response, () => {});
      return door(request, response, next);
    },
  });
  return {
    handler: traceRequests(
      context,
      openLane(app, { atRoot: callback.stops, ofTenants: stops }, { first, ofTenants: cors, onError }),
    ),
    express: app,
    upgrades: graphql.upgrades,
    async close() {
      await Promise.all([graphql.close(), callback.close()]);
    },
  };
}
