import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType } from '../graphql/body.ts';
import type { AddTypes } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { enumType, recordType } from '../graphql/record.ts';
import * as holidays from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  enumType(builder, wire.unusedReason);
  recordType(builder, 'UnusedHolidayEvents', wire.unusedEvents);
  recordType(builder, 'HolidayReading', wire.holidayReading);
  const calendar = recordType(
    builder,
    'HolidayCalendar',
    wire.calendarRecord,
    wire.toCalendarRecord,
    nodeOf('holidayCalendar', ({ context, viewer }, id) => holidays.findCalendar(context.db, viewer, id)),
  );
  const holiday = recordType(builder, 'Holiday', wire.holidayRecord, wire.toHolidayRecord);
  const booking = recordType(builder, 'BookingInHoliday', wire.closedBooking, wire.toClosedBooking);
  const calendarFilter = filterType(builder, 'HolidayCalendarFilter', 'Which holiday calendars', wire.calendarFilter);
  const holidayFilter = filterType(builder, 'HolidayFilter', 'Which holidays', wire.holidayFilter);
  const calendars = connectionType(builder, calendar, holidays.calendarList, { isCounted: true });
  const listed = connectionType(builder, holiday, holidays.holidayList);
  const bookings = connectionType(builder, booking, holidays.closedBookingList);
  builder.queryFields((t) => ({
    holidayCalendars: t.field({
      type: calendars,
      args: filteredPage(t.arg, calendarFilter),
      complexity: pageCost,
      description: 'The holiday calendars of the tenant by id, for Admins.',
      resolve: (_root, { filter, ...page }, { context, viewer }) =>
        holidays.listCalendars(context.db, viewer, given(filter), pageOf(holidays.calendarList, page)),
    }),
    holidays: t.field({
      type: listed,
      args: filteredPage(t.arg, holidayFilter),
      complexity: pageCost,
      description: 'The holidays of all calendars by id, including those that are only shown.',
      resolve: (_root, { filter, ...page }, { context, viewer }) =>
        holidays.listHolidays(context.db, viewer, given(filter), pageOf(holidays.holidayList, page)),
    }),
    bookingsInHolidays: t.field({
      type: bookings,
      args: {
        calendarId: idArgument(t.arg, 'holidayCalendar', { required: true, description: 'The holiday calendar.' }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description: 'Future bookings on a holiday of the calendar, by id; for Admins.',
      resolve: (_root, { calendarId, ...page }, { context, viewer }) =>
        holidays.listClosedBookings(context.db, viewer, calendarId, pageOf(holidays.closedBookingList, page)),
    }),
  }));
  const result = (verb: string) => ({
    name: `${verb}HolidayCalendarResult`,
    description: 'The holiday calendar, or why the request was refused.',
  });
  builder.mutationFields((t) => {
    const named = {
      id: idArgument(t.arg, 'holidayCalendar', { required: true, description: 'The id of the holiday calendar.' }),
      version: t.arg.int({ required: true, description: 'The version that was read.' }),
    };
    return {
      createHolidayCalendar: t.field({
        type: calendar,
        errors: { types: [Conflict, Forbidden, InvalidInput], union: result('Create') },
        args: {
          input: t.arg({
            type: bodyType(builder, 'CreateHolidayCalendarInput', wire.newCalendar),
            required: true,
            description: 'The calendar to create.',
          }),
        },
        description: 'Creates a holiday calendar from an .ics file or its address, for Admins.',
        resolve: (_root, { input }, call) =>
          holidays.createCalendar(call.context.db, call, input as holidays.NewCalendar),
      }),
      changeHolidayCalendar: t.field({
        type: calendar,
        errors: { types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed], union: result('Change') },
        args: {
          ...named,
          input: t.arg({
            type: bodyType(builder, 'ChangeHolidayCalendarInput', wire.calendarChanges),
            required: true,
            description: 'The changes.',
          }),
        },
        description: 'Changes a holiday calendar, for Admins.',
        resolve: (_root, { id, version, input }, call) =>
          holidays.changeCalendar(call.context.db, call, id, [version], input as holidays.HolidayCalendarChanges),
      }),
      deleteHolidayCalendar: t.field({
        type: calendar,
        errors: { types: [Forbidden, NotFound, PreconditionFailed], union: result('Delete') },
        args: named,
        description:
          'Deletes a holiday calendar, so that its holidays close nothing any more; returns it as it was. For Admins.',
        resolve: (_root, { id, version }, call) => holidays.deleteCalendar(call.context.db, call, id, [version]),
      }),
    };
  });
};
