/** Policies: who may see, book and decide, and within which limits; in sentences, so that people see what they have set. */
import { place } from '../address.ts';
import { act, ask } from '../client.ts';
import {
  ChangePolicyDocument,
  type ChangePolicyInput,
  CreatePolicyDocument,
  DeletePolicyDocument,
  MasterPolicyDocument,
  type MasterPolicyFragment,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { nameColumn } from '../parts/table.ts';
import { t as shared } from '../texts/master.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/persons.ts';
import {
  groupLists,
  type Named,
  nameIn,
  namesOf,
  numberOf,
  readGroups,
  readPolicies,
  readRooms,
  textOf,
} from './data.ts';
import { type Deletable, useDeletion } from './delete.ts';
import { deleteButton, listTools, nameField, recordTable } from './list.ts';
import { RecordDialog, useRecord } from './record.ts';

type Policy = MasterPolicyFragment;
const limits = ['leadMinutes', 'aheadDays', 'longestMinutes', 'quotaBookingsPerWeek', 'quotaMinutesPerWeek'] as const;
type Values = { name: string; needsApproval: boolean } & Record<(typeof groupLists)[number], readonly string[]> &
  Record<(typeof limits)[number], string>;

const valuesOf = (read: Policy | null): Values => ({
  name: read?.name ?? '',
  needsApproval: read?.needsApproval ?? false,
  maySee: read?.maySee ?? [],
  mayBook: read?.mayBook ?? [],
  maySkipApproval: read?.maySkipApproval ?? [],
  mayDecide: read?.mayDecide ?? [],
  mayBookForOthers: read?.mayBookForOthers ?? [],
  leadMinutes: textOf(read?.leadMinutes),
  aheadDays: textOf(read?.aheadDays),
  longestMinutes: textOf(read?.longestMinutes),
  quotaBookingsPerWeek: textOf(read?.quotaBookingsPerWeek),
  quotaMinutesPerWeek: textOf(read?.quotaMinutesPerWeek),
});

function inputOf(changes: Partial<Values>): ChangePolicyInput {
  const isLimit = (key: string) => limits.some((limit) => limit === key);
  return Object.fromEntries(
    Object.entries(changes).map(([key, value]) => [key, isLimit(key) ? numberOf(String(value)) : value]),
  );
}

/** The policy in sentences. */
function sentencesOf(values: Values, groups: readonly Named[]): string[] {
  const who = (ids: readonly string[]) => ids.map((id) => nameIn(groups, id) || '?');
  const { maySee, mayBook, maySkipApproval, mayDecide, mayBookForOthers, needsApproval } = values;
  const say = t().sentences;
  return [
    say.see(who(maySee)),
    say.book(who(mayBook)),
    needsApproval ? say.approval(who(mayDecide), who(maySkipApproval)) : say.noApproval,
    mayBookForOthers.length > 0 ? say.others(who(mayBookForOthers)) : '',
    ...limits.map((limit) => (values[limit] === '' ? '' : say[limit](Number(values[limit])))),
  ].filter(Boolean);
}

type FormProperties = {
  policy: Policy | null;
  groups: readonly Named[];
  onSaved: () => void;
  onDelete: (policy: Policy) => unknown;
  onClose: () => void;
};

const PolicyForm: Component<FormProperties> = ({ policy, groups, onSaved, onDelete, onClose }) => {
  const draft = useRecord<Values, Policy>({
    record: policy,
    subject: 'Policy',
    valuesOf,
    read: async (id) => (await ask(MasterPolicyDocument, { id })).policy,
    create: (values) => act(CreatePolicyDocument, { input: { ...inputOf(values), name: values.name } }),
    change: ({ id, version }, changes) => act(ChangePolicyDocument, { id, version, input: inputOf(changes) }),
    onSaved,
  });
  const { base, values, set, refusal } = draft;
  const shown = values.needsApproval ? groupLists : groupLists.filter((list) => list !== 'maySkipApproval');
  const toggle = (list: (typeof groupLists)[number], id: string) => (checked: boolean) =>
    set({ [list]: checked ? [...values[list], id] : values[list].filter((each) => each !== id) });
  return h(RecordDialog, {
    title: base?.name ?? t().newPolicy,
    draft,
    fields: ['name', ...limits],
    onClose,
    wide: true,
    children: html`
      ${nameField(draft)}
      <div class="says" role="status"><h3>${t().means}</h3><ul>${sentencesOf(values, groups).map((line) => html`<li>${line}</li>`)}</ul></div>
      ${h(Check, { label: labels().needsApproval, checked: values.needsApproval, onChange: (needsApproval) => set({ needsApproval }) })}
      ${groups.length === 0 && html`<p class="hint">${t().noGroups}</p>`}
      ${
        groups.length > 0 &&
        shown.map(
          (list) => html`
            <fieldset key=${list}>
              <legend>${t().lists[list]}</legend>
              <div class="fields">${groups.map(({ id, name }) => h(Check, { key: id, label: name, checked: values[list].includes(id), onChange: toggle(list, id) }))}</div>
            </fieldset>
          `,
        )
      }
      <div class="fields">
        ${limits.map((limit) => h(Field, { key: limit, label: labels()[limit], type: 'number', min: 0, value: values[limit], onInput: (text) => set({ [limit]: text }), fault: faultAt(refusal, limit) }))}
      </div>
    `,
    more: deleteButton(base, onDelete),
  });
};

/** Rooms that have a policy keep it. */
async function sayUse({ id, name }: Deletable): Promise<string | undefined> {
  const having = (await readRooms()).filter(({ policyId }) => policyId === id);
  return having.length > 0 ? t().policyStays(name, namesOf(having), having.length) : undefined;
}

export const Screen: Component<object> = () => {
  const { record } = place.value;
  const asked = useAsked(async (stop) => {
    const [policies, groups] = await Promise.all([readPolicies(stop), readGroups(stop)]);
    return { policies, groups };
  }, []);
  const { hidden, remove, close } = useDeletion((which) => act(DeletePolicyDocument, which), asked.reload, sayUse);
  return html`
    <div class="form">
      ${listTools(t().newPolicy, t().policiesHint)}
      ${showAsked(asked, ({ policies, groups }) => {
        const opened = policies.find(({ id }) => id === record);
        const said = (policy: Policy) => sentencesOf(valuesOf(policy), groups);
        const state = { groups, onSaved: asked.reload, onDelete: remove, onClose: close };
        return html`
          ${recordTable({
            caption: shared().parts.policies,
            name: 'policies',
            rows: policies,
            none: t().noPolicies,
            hidden,
            columns: [
              nameColumn(t().policy),
              {
                key: 'means',
                title: t().means,
                value: (policy) => said(policy).join(' '),
                show: (policy) => html`<ul class="plain">${said(policy).map((line) => html`<li>${line}</li>`)}</ul>`,
              },
            ],
          })}
          ${(record === 'new' || opened) && h(PolicyForm, { key: record ?? '', policy: opened ?? null, ...state })}
        `;
      })}
    </div>
  `;
};
