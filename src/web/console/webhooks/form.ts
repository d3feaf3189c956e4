/** A webhook in a form: its name, its address, and which events it gets. */
import { useRef } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { act, hasFault, isUnanswered } from '../client.ts';
import { ChangeHookDocument, CreateHookDocument, type EventKind } from '../generated/graphql.ts';
import { RecordDialog, useRecord } from '../master/record.ts';
import { Check, Field, useFault } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/webhooks.ts';
import { type Hook, kindOf, readHook } from './data.ts';

type Values = { name: string; url: string; kinds: readonly EventKind[] };

const kinds: readonly EventKind[] = [
  'BookingCreated',
  'BookingChanged',
  'BookingCancelled',
  'BookingReleased',
  'BatchEnded',
  'DisplaySilent',
  'DisplayBack',
  'MailConflict',
];

type FormProperties = {
  /** Null for a new webhook. */
  hook: Hook | null;
  onSaved: (hook: Hook) => void;
  onSecret: (hook: Hook, secret: string) => void;
  onClose: () => void;
};

export const HookForm: Component<FormProperties> = ({ hook, onSaved, onSecret, onClose }) => {
  const isUnknown = useRef(false);
  const made = useRef<[Hook, string] | undefined>(undefined);
  const draft = useRecord<Values, Hook>({
    record: hook,
    subject: 'Webhook',
    valuesOf: (read) => ({ name: read?.name ?? '', url: read?.url ?? '', kinds: read?.kinds ?? [] }),
    read: readHook,
    async create({ kinds: wanted, ...values }) {
      const { done, refused } = await act(CreateHookDocument, { input: { ...values, kinds: [...wanted] } });
      if (refused) {
        // An earlier attempt without an answer has created the webhook: its secret can no longer be shown.
        const wasMade = isUnknown.current && hasFault(refused, 'NameTaken');
        isUnknown.current = isUnanswered(refused);
        return { refused: wasMade ? { ...refused, code: 'WasMade', message: '', faults: [] } : refused };
      }
      made.current = [done.webhook, done.secret];
      return { done: done.webhook };
    },
    change: ({ id, version }, { kinds: wanted, ...changes }) =>
      act(ChangeHookDocument, { id, version, input: { ...changes, ...(wanted && { kinds: [...wanted] }) } }),
    onSaved,
  });
  const { base, values, set, refusal } = draft;
  const toggle = (kind: EventKind) => (is: boolean) =>
    set({ kinds: is ? [...values.kinds, kind] : values.kinds.filter((one) => one !== kind) });
  const fault = useFault(faultAt(refusal, 'kinds'), values.kinds.join());
  return h(RecordDialog, {
    title: base?.name ?? t().make,
    draft,
    fields: ['name', 'url', 'kinds'],
    onClose() {
      onClose();
      if (made.current) onSecret(...made.current);
    },
    children: html`
      ${h(Field, { label: labels().name, value: values.name, onInput: (name) => set({ name }), required: true, autofocus: true, maxLength: longest.name, fault: faultAt(refusal, 'name') })}
      ${h(Field, { label: labels().url, type: 'url', value: values.url, onInput: (url) => set({ url }), hint: t().urlHint, required: true, maxLength: longest.url, fault: faultAt(refusal, 'url') })}
      <fieldset class="choice ${fault ? 'wrong' : ''}" aria-describedby=${fault && 'kinds-fault'}>
        <legend>${labels().kinds}</legend>
        <div class="options">
          ${kinds.map((kind) => h(Check, { key: kind, label: kindOf(kind), checked: values.kinds.includes(kind), onChange: toggle(kind) }))}
        </div>
        ${fault && html`<p class="fault" role="alert" id="kinds-fault">${fault}</p>`}
      </fieldset>
    `,
  });
};
