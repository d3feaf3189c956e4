/** What a sign shows now: drawn from the stream of its rooms, within the sign's level of privacy. */
import { useEffect, useState } from 'preact/hooks';
import { dayAt, dayText, timeText } from '../clock.ts';
import { type PreviewFragment, type SignFragment, SignPreviewsDocument } from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { type Component, html } from '../parts/html.ts';
import { t } from '../texts/signs.ts';

export type Snapshots = ReadonlyMap<string, PreviewFragment>;
type Slot = PreviewFragment['schedule'][number];
type Privacy = SignFragment['privacy'];

/** The most streams of a page: a tenant with more locations sees the previews of the first. */
const mostLocations = 20;
const mostRooms = 6;

/** What the rooms of some locations show, as it changes. */
export function useSnapshots(locationIds: readonly string[]): Snapshots {
  const [snapshots, setSnapshots] = useState<Snapshots>(new Map());
  const wanted = [...new Set(locationIds)].sort().slice(0, mostLocations);
  useEffect(() => {
    const ends = wanted.map((locationId) =>
      follow(
        SignPreviewsDocument,
        { locationId },
        {
          next({ board }) {
            if (board.__typename !== 'DisplaySnapshot') return;
            setSnapshots((before) => new Map(before).set(board.resource.resourceId, board));
          },
        },
      ),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [wanted.join(' ')]);
  return snapshots;
}

function titleOf({ subject, organizer, classes, kind }: Slot, privacy: Privacy): string {
  if (privacy === 'BusyOnly') return t().taken;
  if (privacy === 'Organizer') return organizer ?? classes?.join(', ') ?? t().taken;
  return [subject ?? t().kinds[kind], classes?.join(', ')].filter(Boolean).join(' · ');
}

function room({ resource, status, until, timeZone, schedule, serverTime }: PreviewFragment, privacy: Privacy) {
  const now = Date.parse(serverTime);
  const today = dayAt(timeZone, now);
  const at = (instant: string) => {
    const day = dayAt(timeZone, Date.parse(instant));
    return [day !== today && dayText(day, 'short'), timeText(timeZone, Date.parse(instant))].filter(Boolean).join(', ');
  };
  const held = schedule.filter(({ occupies, to }) => occupies && Date.parse(to) > now);
  const current = held.find(({ from }) => Date.parse(from) <= now);
  const next = held.find(({ from }) => Date.parse(from) > now);
  return html`
    <div class="door ${status}" role="group" aria-label=${t().preview(resource.name)}>
      <b>${resource.name}</b>
      <span class="status">${t().statuses[status]}${until && html` <small>${t().until(at(until))}</small>`}</span>
      ${current && html`<span>${at(current.start)}–${at(current.end)} ${titleOf(current, privacy)}</span>`}
      ${next && html`<small>${t().next(at(next.start), titleOf(next, privacy))}</small>`}
    </div>
  `;
}

export const Preview: Component<{ sign: SignFragment; snapshots: Snapshots }> = ({ sign, snapshots }) => {
  const shown = sign.resources.flatMap(({ resourceId }) => snapshots.get(resourceId) ?? []);
  if (sign.revokedAt || shown.length === 0) return html`<p class="hint">${t().noPreview}</p>`;
  const more = sign.resources.length - mostRooms;
  return html`
    <div class="doors ${sign.silentSince ? 'silent' : ''}">
      ${shown.slice(0, mostRooms).map((snapshot) => room(snapshot, sign.privacy))}
      ${more > 0 && html`<small>${t().moreRooms(more)}</small>`}
    </div>
  `;
};
