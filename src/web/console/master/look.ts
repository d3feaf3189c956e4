/** The colour and the logo of the school's signs and boards. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { largestLogo } from '../../../names.ts';
import type { Refusal } from '../client.ts';
import { Field, useFault } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { t } from '../texts/master.ts';
import { labels } from '../texts/members.ts';
import { LookPreview, readPicture } from './look-preview.ts';

/** Empty texts for none. The logo is a data URL. */
export type Look = { colour: string; logo: string };

/** The same as the server's. */
const types = ['image/png', 'image/jpeg', 'image/webp'];
const { bytes: mostBytes, pixels: mostPixels } = largestLogo;
/** The first colour that the picker offers. */
const firstColour = '#1e6b47';

const readUrl = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

type Properties = Look & { refusal: Refusal | undefined; onChange: (change: Partial<Look>) => void };

export const LookFields: Component<Properties> = ({ colour, logo, refusal, onChange }) => {
  const id = useId();
  const file = useRef<HTMLInputElement>(null);
  const [picture, setPicture] = useState<ImageBitmap | null>(null);
  const [fault, setFault] = useState<string>();
  useEffect(() => {
    let isWanted = true;
    const show = (read: ImageBitmap | null) => isWanted && setPicture(read);
    if (logo) void readPicture(logo).then(show);
    else show(null);
    return () => {
      isWanted = false;
    };
  }, [logo]);

  /** Takes a file, or says at once why not and keeps the former logo. */
  async function choose(input: HTMLInputElement): Promise<void> {
    const [chosen] = input.files ?? [];
    if (!chosen) return;
    const url = types.includes(chosen.type) && chosen.size <= mostBytes ? await readUrl(chosen) : '';
    const read = url ? await readPicture(url) : null;
    const isTaken = read !== null && read.width <= mostPixels && read.height <= mostPixels;
    setFault(isTaken ? undefined : t().noLogo(chosen.name));
    if (isTaken) onChange({ logo: url });
    // The input must not name a file whose picture is not shown.
    else input.value = '';
  }
  const said = useFault(fault ?? faultAt(refusal, 'logo'), logo);
  function remove(name: keyof Look): void {
    onChange({ [name]: '' });
    if (name === 'logo' && file.current) file.current.value = '';
  }
  const remover = (name: keyof Look, label: string) =>
    html`<button type="button" aria-label="${t().remove}: ${label}" onClick=${() => remove(name)}>${t().remove}</button>`;
  return html`
    <fieldset class="look">
      <legend>${t().look}</legend>
      ${h(Field, { label: labels().colour, type: 'color', value: colour || firstColour, onInput: (chosen) => onChange({ colour: chosen }), hint: colour ? t().colourHint : t().noColour, fault: faultAt(refusal, 'colour'), children: colour && remover('colour', labels().colour) })}
      <div class="field ${said ? 'wrong' : ''}">
        <label for=${id}>${labels().logo}</label>
        <div class="input">
          <input id=${id} ref=${file} type="file" accept=${types.join()} aria-invalid=${said ? 'true' : undefined} aria-describedby="${id}-hint" onChange=${({ currentTarget }: Event) => void choose(currentTarget as HTMLInputElement)} />
          ${logo && remover('logo', labels().logo)}
        </div>
        <p class="hint" id="${id}-hint">${t().logoHint(mostBytes / 1_024, mostPixels)}</p>
        ${said && html`<p class="fault" role="alert">${said}</p>`}
      </div>
      ${h(LookPreview, { colour, picture })}
    </fieldset>
  `;
};
