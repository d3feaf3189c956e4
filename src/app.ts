/** The HTTP surface, read from top to bottom. */
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Context } from './context.ts';
import { NotFound } from './errors.ts';
import { authenticate } from './identity/authenticate.ts';
import { identityRoutes } from './identity/rest.ts';
import * as lessons from './lessons/rest.ts';
import { handleErrors } from './rest/errors.ts';
import { type Health, healthRoutes } from './rest/health.ts';
import { identifyRequests } from './rest/request.ts';
import { mountRoutes } from './rest/route.ts';

/** Health and metrics for every role. */
export function createHealthApp(context: Context, health: Health): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.set('trust proxy', context.config.TrustProxy);
  app.use(identifyRequests(context.log));
  app.use(
    helmet({
      strictTransportSecurity: false,
      contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
    }),
  );
  app.use(healthRoutes(context, health));
  return app;
}

/** Everything: identity, then what is below a tenant. */
export function createApp(context: Context, health: Health): Express {
  const app = createHealthApp(context, health);
  app.use(identityRoutes(context));
  app.use('/:mandator/api', authenticate(context), mountRoutes(context, [...lessons.routes]));
  return app;
}

/** What stands behind every route. */
export function finish(app: Express, context: Context): Express {
  app.use((request) => {
    throw new NotFound(`There is nothing at ${request.path}.`);
  });
  app.use(handleErrors(context.log));
  return app;
}
