/**
 * Door signs and boards: what they show, and to whom (contract 8 and 9).
 *
 * Terms: a **display** is a paired device; it acts as a person of role Display, within its **grant**: rooms, whether it may
 * book, and a level of **privacy**. A **plan** is what is stored about a room for three days at its location: a list of
 * **slots**. A **snapshot** is a plan as a level of privacy shows it, with the state of the room; its **cursor** names its
 * content. A **board** is all rooms of a location. A room is **watched** while a sign or a board reads it.
 *
 * Invariants:
 * - The content of a frame was true at its `asOf`, and `asOf` moves on only while notifications arrive and reads succeed.
 * - The same content has the same cursor in every process; the same frame is the same object for all readers of a level.
 * - A change is read once per process and room, however many watch it; no reader delays another.
 * - Every level shows of a private booking only that, and until when, the room is taken.
 * - A display sees only the rooms of its grant; for it, no other room exists.
 */
export { toDisplayRecord } from './device-wire.ts';
export {
  changeDevice,
  displayList,
  findOwnDevice,
  getDevice,
  getOwnDevice,
  listAllDevices,
  listDevices,
  listDevicesById,
  listDevicesOf,
  reportHealth,
  revokeDevice,
} from './devices.ts';
export type { Display, DisplayEnded, DisplayFrame, DisplayHeartbeat, RoomSnapshot } from './display.ts';
export { displayFigures, findSilent, forgetPairings, hear, hearReader, mayFindSilent } from './hearing.ts';
export { figuresOf, readLocation, readSnapshot, watchLocation, watchRoom } from './live.ts';
export { getLocationNamed, getRoomNamed, openOffice } from './office.ts';
export { deviceTopic, watchDevices } from './oversight.ts';
export { type AskedRoom, codeMinutes, findAskedRoom, pairDisplay, requestPairing } from './pairing.ts';
