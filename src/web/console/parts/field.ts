/** An input with its label, hint and fault, which screen readers announce with it. */
import { useId, useRef } from 'preact/hooks';
import { type Child, html } from './html.ts';

export type Choice = { value: string; text: string };

/** A fault that a refusal names. */
export type RefusedFault = { text: string; of: object };

export type FieldProperties = {
  label: string;
  value: string;
  onInput: (value: string) => void;
  onBlur?: () => void;
  type?:
    | 'text'
    | 'search'
    | 'password'
    | 'number'
    | 'date'
    | 'time'
    | 'datetime-local'
    | 'email'
    | 'url'
    | 'color'
    | 'textarea';
  /** Makes the input a list to choose from. */
  choices?: readonly Choice[];
  hint?: string | undefined;
  fault?: string | RefusedFault | undefined;
  /** What a refusal's fault is about, if that is more than the value. */
  about?: string;
  required?: boolean;
  autofocus?: boolean;
  disabled?: boolean;
  autocomplete?: string;
  min?: string | number;
  max?: string | number;
  step?: string | number;
  maxLength?: number;
  /** Hides the label except from screen readers. */
  hideLabel?: boolean;
  placeholder?: string;
  /** Values that the browser suggests while somebody types. */
  suggestions?: readonly string[];
  /** Shown beside the input. */
  children?: Child;
};

/** Browsers take a date part by part, and give no date or one of the year 2 while 2027 is typed. */
const isHalfTyped = ({ type, value, validity }: HTMLInputElement) =>
  type === 'date' && (validity.badInput || value.startsWith('0'));

/** The text of a fault; that of a refusal ends when what it is about changes. */
export function useFault(fault: string | RefusedFault | undefined, about: string): string | undefined {
  const refused = useRef<{ of: object; about: string }>(undefined);
  if (typeof fault !== 'object') return fault;
  if (refused.current?.of !== fault.of) refused.current = { of: fault.of, about };
  return refused.current.about === about ? fault.text : undefined;
}

export function Field(properties: FieldProperties) {
  const {
    label,
    value,
    onInput,
    type = 'text',
    choices,
    hint,
    fault: told,
    about = value,
    hideLabel = false,
    children,
    autofocus,
    suggestions,
    ...rest
  } = properties;
  const id = useId();
  const fault = useFault(told, about);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const self = useRef<HTMLInputElement>(null);
  const enter = () => {
    const input = self.current as HTMLInputElement;
    if (!isHalfTyped(input)) onInput(input.value);
  };
  // A date without its first part has no value: browsers send no event when keys remove the rest.
  const clear = () => {
    if (value !== '' && self.current?.value === '') enter();
  };
  // Live data draw the page again meanwhile, which would discard the parts that are typed.
  const isBeingTyped = self.current !== null && self.current === document.activeElement && isHalfTyped(self.current);
  const common = {
    // A form is not sent with a date that is half typed. Years have four digits.
    ...(type === 'date' && { min: '1000-01-01', max: '9999-12-31', onKeyUp: clear }),
    ...rest,
    id,
    ref: self,
    value: isBeingTyped ? self.current?.value : value,
    'aria-describedby': described || undefined,
    'aria-invalid': fault ? 'true' : undefined,
    onInput: enter,
    // The dialog gives it the focus when it opens.
    autoFocus: autofocus,
  };
  const input = choices
    ? html`<select ...${common}>${choices.map(({ value, text }) => html`<option key=${value} value=${value}>${text}</option>`)}</select>`
    : type === 'textarea'
      ? html`<textarea rows="3" ...${common}></textarea>`
      : html`<input type=${type} list=${suggestions && `${id}-list`} ...${common} />`;
  return html`
    <div class="field ${fault ? 'wrong' : ''}">
      <label for=${id} class=${hideLabel ? 'unseen' : ''}>${label}</label>
      <div class="input">${input}${children}</div>
      ${suggestions && html`<datalist id="${id}-list">${suggestions.map((text) => html`<option value=${text}></option>`)}</datalist>`}
      ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
      ${fault && html`<p class="fault" role="alert" id="${id}-fault">${fault}</p>`}
    </div>
  `;
}

type CheckProperties = {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: string;
  disabled?: boolean;
};

export function Check({ label, checked, onChange, hint, disabled = false }: CheckProperties) {
  const id = useId();
  return html`
    <div class="field check">
      <input type="checkbox" id=${id} checked=${checked} disabled=${disabled} aria-describedby=${hint ? `${id}-hint` : undefined}
        onChange=${(event: Event) => onChange((event.currentTarget as HTMLInputElement).checked)} />
      <label for=${id}>${label}</label>
      ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    </div>
  `;
}

/** The buttons and forms whose act has not ended. Handlers cannot keep this, because each drawing makes new ones. */
const busy = new WeakSet<EventTarget>();

/** Leads to the first faulty field, or else back from nowhere: a button that was disabled or removed has lost the focus. */
function settleFocus(form: HTMLFormElement, before: Element | null): void {
  const faulty = form.querySelector<HTMLElement>('.wrong :is(input, select, textarea):enabled');
  const next = before?.isConnected && before !== document.body ? before : form.querySelector('button.main');
  if (faulty) faulty.focus();
  else if (document.activeElement === document.body && next instanceof HTMLElement) next.focus();
}

/** Runs once, even at a double click. In a form that is still open afterwards, the focus is where one goes on. */
export const once = (run: () => unknown) => async (event: Event) => {
  const self = event.currentTarget as HTMLElement;
  if (busy.has(self)) return;
  const [form, before] = [self.closest('form'), document.activeElement];
  busy.add(self);
  try {
    await run();
  } finally {
    busy.delete(self);
  }
  // What the act has changed is drawn by then.
  setTimeout(() => form?.isConnected && settleFocus(form, before));
};

/** A form that never leaves the page. */
export const submit = (run: () => unknown) => (event: Event) => {
  event.preventDefault();
  return once(run)(event);
};
