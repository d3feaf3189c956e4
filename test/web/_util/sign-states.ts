/** A sign in each of its states, to be checked by axe or seen by a person. */
import type { Browser } from 'playwright-core';
import { type Cable, layCable } from '../../_util/cable.ts';
import type { Service } from '../../_util/service.ts';
import { fillSchool, minute, openSchool, school as rooms, type School } from './school.ts';
import { openSign, type Sign, type SignOptions } from './signs.ts';

export type Look = Pick<SignOptions, 'language' | 'theme' | 'width' | 'height'>;
/** Looks at a sign that is in a state; the name of the state is one for messages and files. */
type See = (name: string, sign: Sign) => Promise<void>;

/** @param button what it offers, as the name of the button in either language */
type RoomState = { name: string; room: string; status: string; button?: RegExp };

const ofRooms: readonly RoomState[] = [
  { name: 'free', room: rooms.free, status: 'FREE', button: /15 min/ },
  { name: 'busy', room: rooms.busy, status: 'BUSY', button: /^(End|Beenden)$/ },
  { name: 'ending-soon', room: rooms.endingSoon, status: 'ENDING_SOON', button: /^(End|Beenden)$/ },
  { name: 'check-in-due', room: rooms.checkInDue, status: 'CHECK_IN_DUE', button: /^(Check in|Einchecken)$/ },
  { name: 'closed', room: rooms.closed, status: 'CLOSED' },
  { name: 'out-of-service', room: rooms.outOfService, status: 'OUT_OF_SERVICE' },
  { name: 'starting-soon', room: rooms.startingSoon, status: 'STARTING_SOON' },
  { name: 'cancelled', room: rooms.cancelled, status: 'FREE', button: /15 min/ },
  { name: 'moved-away', room: rooms.movedFrom, status: 'FREE', button: /15 min/ },
  { name: 'moved-here', room: rooms.movedTo, status: 'FREE' },
];

/** Makes a tenant whose rooms are in all states. */
export async function openStates(service: Service, browser: Browser) {
  const school: School = await openSchool(service, 'schule', 12);
  await fillSchool(school);
  const { token } = await school.pair({ LocationId: school.locationId, MayBook: true });

  async function visitOnline(look: Look, see: See): Promise<Sign> {
    const sign = await openSign(browser, service.url, school.board, { token, ...look });
    await sign.shows(rooms.busy);
    await see('board', sign);
    for (const { name, room, status, button } of ofRooms) {
      await sign.open(school.sign(room));
      await sign.status(status);
      // What it may do it learns after what it shows.
      if (button) await sign.button(button).first().waitFor();
      await see(name, sign);
      if (name !== 'busy') continue;
      await sign.button(/^(Find a free room|Freien Raum finden)$/).tap();
      await sign.page.locator('.found button').first().waitFor();
      await see('elsewhere', sign);
      await sign.button(/^(Close|Schließen)$/).tap();
      await sign.button(/^(Report a problem|Problem melden)$/).tap();
      await sign.button(/^(Other|Something else|Anderes)$/).waitFor();
      await see('reporting', sign);
    }
    await sign.open(school.url('door-sign', 999_999));
    await sign.shows(rooms.free);
    await see('not-given', sign);
    await sign.open(school.sign(rooms.free));
    await sign.status('FREE');
    await sign.context.setOffline(true);
    await sign.page.locator('html[data-link="offline"]').waitFor({ state: 'attached' });
    await see('offline', sign);
    return sign;
  }

  async function visitCut(look: Look, see: See): Promise<Sign> {
    const cable: Cable = await layCable(service.url);
    const sign = await openSign(browser, cable.url, school.sign(rooms.free), { ahead: 0, ...look });
    await sign.page.locator('.code').waitFor();
    await see('pairing', sign);
    await sign.open('/nobody/door-sign/1');
    await sign.shows('/nobody/door-sign/1');
    await see('wrong-address', sign);
    await sign.open(school.sign(rooms.busy), token);
    await sign.status('BUSY');
    cable.cut();
    await sign.page.clock.fastForward(2 * minute);
    await sign.shows(/^(As of|Stand) /);
    await see('stale', sign);
    cable.mend();
    await sign.open(school.sign(rooms.free), token);
    await sign.status('FREE');
    cable.cut();
    await sign.page.clock.fastForward(20 * minute);
    await sign.status('UNKNOWN');
    await see('unknown', sign);
    await cable.close();
    return sign;
  }

  return {
    /** Shows all states in one look. @returns what the browser has complained of */
    async visit(look: Look, see: See): Promise<string[]> {
      const signs = await Promise.all([visitOnline(look, see), visitCut(look, see)]);
      const complaints = signs.flatMap((sign) => [...sign.complaints, ...sign.foreign]);
      for (const sign of signs) await sign.close();
      return complaints;
    },
  };
}
