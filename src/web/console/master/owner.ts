/** The owner of opening hours, a location or a room, and how its hours are read and written. */
import { act, ask, type Refusal } from '../client.ts';
import {
  type ExceptionsFragment,
  LocationListsDocument,
  type OpeningExceptionInput,
  type OpeningRuleInput,
  RoomListsDocument,
  type RulesFragment,
  SetLocationExceptionsDocument,
  SetLocationRulesDocument,
  SetRoomExceptionsDocument,
  SetRoomRulesDocument,
} from '../generated/graphql.ts';
import type { Location, Room } from './data.ts';

type Answer<List> = { done: List; refused?: never } | { refused: Refusal; done?: never };

export type Owner = {
  subject: 'Location' | 'Resource';
  id: string;
  name: string;
  locationId: string;
  timeZone: string;
  read: () => Promise<{ rules?: RulesFragment | null; exceptions?: ExceptionsFragment | null }>;
  setRules: (version: number, items: readonly OpeningRuleInput[]) => Promise<Answer<RulesFragment>>;
  setExceptions: (version: number, items: readonly OpeningExceptionInput[]) => Promise<Answer<ExceptionsFragment>>;
};

export const ownerOf = (location: Location, room: Room | undefined): Owner => ({
  locationId: location.id,
  timeZone: location.timeZone,
  ...(room
    ? {
        subject: 'Resource' as const,
        id: room.id,
        name: room.name,
        read: () => ask(RoomListsDocument, { id: room.id }),
        setRules: (version, items) => act(SetRoomRulesDocument, { id: room.id, version, items: [...items] }),
        setExceptions: (version, items) => act(SetRoomExceptionsDocument, { id: room.id, version, items: [...items] }),
      }
    : {
        subject: 'Location' as const,
        id: location.id,
        name: location.name,
        read: () => ask(LocationListsDocument, { id: location.id }),
        setRules: (version, items) => act(SetLocationRulesDocument, { id: location.id, version, items: [...items] }),
        setExceptions: (version, items) =>
          act(SetLocationExceptionsDocument, { id: location.id, version, items: [...items] }),
      }),
});
