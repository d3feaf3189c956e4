/** The logos of tenants, which their signs and boards show. */
import { Router } from 'express';
import { NotFound } from '../errors.ts';
import { isMandator } from '../names.ts';
import { makeAnswerFile, refuseMethod, sendWebFile } from './files.ts';
import { picturePolicy } from './phone.ts';

type Picture = { type: string; bytes: Buffer };

/** `/{mandator}/logo`, without a credential. */
export function logoRoutes(find: (mandator: string) => Promise<Picture | undefined>): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.get('/:mandator/logo', async (request, response) => {
    const { mandator } = request.params;
    const logo = isMandator(mandator) ? await find(mandator) : undefined;
    if (!logo) throw new NotFound('There is no logo here: an Admin sets it by PATCH /tenant, or a tenant file does.');
    const file = makeAnswerFile(logo.type, logo.bytes);
    sendWebFile(request, response.set('Content-Security-Policy', picturePolicy), file);
  });
  router.all('/:mandator/logo', refuseMethod);
  return router;
}
