/** The callback of mail servers. It needs no API key, and reads bodies regardless of their Content-Type. */
import { type Request, type RequestHandler, Router } from 'express';
import type { Context } from '../context.ts';
import { TooLarge } from '../errors.ts';
import { type BodySender, subscriptionSends } from '../http/body-memory.ts';
import { codingOf, readBytes } from '../http/request-body.ts';
import { markDeprecated } from '../rest/deprecation.ts';
import type { LaneStop } from '../rest/lane.ts';
import { anonymousSender, countNotifications } from '../rest/limits.ts';
import { allowOnly } from '../rest/route.ts';
import { findSender, type Inbox, inboxPaths, openInbox, openReceiver, receive } from './service.ts';

export { describedPaths } from './openapi-rest.ts';

/** The callback of one process. */
export type MailCallback = {
  router: Router;
  /** Its stops of the lane, by path. */
  stops: ReadonlyMap<string, LaneStop>;
  /** For /metrics. */
  figures: Record<string, { help: string; label?: string; read(): number | Readonly<Record<string, number>> }>;
  /** Resolves when every waiting request is recorded. */
  close(): Promise<void>;
};

function readRaw(request: Request, sender: BodySender, { Limits }: Context['config']): Promise<Buffer> {
  codingOf(request);
  const most = Limits.WebhookBodyBytes;
  return readBytes(request, Limits, {
    most,
    sender,
    tooLarge: () => new TooLarge(`The body is larger than ${most} bytes.`),
  });
}

function answerPosts(context: Context, inbox: Inbox): RequestHandler {
  const receiver = openReceiver(context.config, inbox, (sender, cost) => countNotifications(context, sender, cost));
  return async (request, response) => {
    const { url, ip: address = '' } = request;
    const sender = findSender(receiver, { url, address });
    const counted = 'address' in sender ? anonymousSender(address) : subscriptionSends(sender.subscriptionId);
    const body = await readRaw(request, counted, context.config);
    const answer = await receive(receiver, {
      url,
      body,
      headers: request.headers,
      address,
      sender,
      requestId: response.locals['requestId'],
    });
    response.statusCode = answer.status;
    for (const name in answer.headers) response.setHeader(name, answer.headers[name] as string);
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Length', Buffer.byteLength(answer.body));
    response.end(answer.body);
  };
}

/** Opens the inbox, and the callback at its two paths; both take every dialect. */
export function openCallback(context: Context): MailCallback {
  const inbox = openInbox(context.inbox, context.log);
  const post = answerPosts(context, inbox);
  const router = Router();
  const refuse = allowOnly(['POST']);
  const { path, legacyPath } = inboxPaths;
  const successor = `${context.config.IdpUrl}${path}`;
  const markLegacy: RequestHandler = (_request, response, next) => {
    markDeprecated(response, { documentation: undefined, successor });
    next();
  };
  router.route(path).post(post).all(refuse);
  const stop: LaneStop = { method: 'POST', pattern: path, door: (_request, _response, next) => next(), handler: post };
  router.route(legacyPath).all(markLegacy).post(post).all(refuse);
  const figure = (help: string, name: keyof ReturnType<Inbox['figures']>) => ({
    help,
    read: () => inbox.figures()[name],
  });
  return {
    router,
    stops: new Map([[path, stop]]),
    figures: {
      roomgate_mail_notifications_recorded_total: {
        ...figure('Notifications of mail servers that this process has recorded', 'recorded'),
        label: 'verdict',
      },
      roomgate_mail_notification_statements_total: figure(
        'Statements that have recorded them, each for all notifications that had arrived by then',
        'statements',
      ),
      roomgate_mail_posts_failed_total: figure(
        'Requests of mail servers that could not be recorded in time and were answered 503',
        'failed',
      ),
      roomgate_mail_posts_waiting: figure('Requests of mail servers that wait to be recorded', 'waiting'),
    },
    close: inbox.close,
  };
}
