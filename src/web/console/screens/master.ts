/** Master data: what can be booked, when it is open, who may do what. Each part has a module of its own. */
import { addressWith, goToScreen, place } from '../address.ts';
import { type Component, h, html } from '../parts/html.ts';
import { opening } from '../parts/link.ts';
import { Stage, type Staged } from '../parts/stage.ts';
import { t } from '../texts/master.ts';

/** In the order in which a new school needs them. */
const parts: readonly Staged[] = [
  { name: 'rooms', load: () => import('../master/rooms.ts') },
  { name: 'locations', load: () => import('../master/locations.ts') },
  { name: 'hours', load: () => import('../master/hours.ts') },
  { name: 'holidays', load: () => import('../master/holidays.ts') },
  { name: 'persons', load: () => import('../master/persons.ts') },
  { name: 'groups', load: () => import('../master/groups.ts') },
  { name: 'policies', load: () => import('../master/policies.ts') },
  { name: 'school', load: () => import('../master/school.ts') },
];

export const Screen: Component<object> = () => {
  const current = parts.find(({ name }) => name === place.value['part']) ?? parts[0];
  const open = (name: string) => opening(() => goToScreen('master', { part: name }));
  return html`
    <div class="page master">
      <h1 class="unseen">${t().title}</h1>
      <nav class="tabs" aria-label=${t().title}>
        ${parts.map(
          ({ name }) => html`
            <a key=${name} href=${addressWith({ screen: 'master', part: name }, {})} aria-current=${name === current?.name ? 'page' : undefined} onClick=${open(name)}>
              ${t().parts[name as keyof ReturnType<typeof t>['parts']]}
            </a>
          `,
        )}
      </nav>
      ${current && h(Stage, { screen: current })}
    </div>
  `;
};
