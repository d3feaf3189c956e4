/** What people see of a webhook. */
import { ask } from '../client.ts';
import { moment } from '../clock.ts';
import { type HookFragment, HooksDocument, OneHookDocument } from '../generated/graphql.ts';
import { t as activity } from '../texts/activity.ts';
import { t } from '../texts/webhooks.ts';

export type Hook = HookFragment;

export const readHooks = async (stop?: AbortSignal): Promise<readonly Hook[]> =>
  (await ask(HooksDocument, {}, stop)).webhooks?.nodes ?? [];

export async function readHook(id: string, stop?: AbortSignal): Promise<Hook | undefined> {
  const { node } = await ask(OneHookDocument, { id }, stop);
  return node?.__typename === 'Webhook' ? node : undefined;
}

export function stateOf({ disabledAt, disabledBecause, failures, failingSince, succeededAt }: Hook): string {
  if (disabledAt && disabledBecause === 'Admin') return t().disabledByAdmin(moment(disabledAt));
  if (disabledAt) return t().disabled(moment(disabledAt), activity().webhookReasons[disabledBecause ?? ''] ?? '');
  if (failingSince) return t().fails(failures, moment(failingSince));
  return succeededAt ? t().well : t().unused;
}

/** Whether the webhook is disabled or failing without an Admin having disabled it. */
export const isBad = ({ disabledBecause, failingSince }: Hook): boolean =>
  disabledBecause ? disabledBecause !== 'Admin' : failingSince !== null;

export const kindOf = (kind: string): string => t().kinds[kind] ?? kind;
