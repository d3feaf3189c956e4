/** Examples of bodies and answers for the OpenAPI document, from the demo tenant. */

const place = { ResourceId: 1, ResourceName: 'HS 101' };
const times = { Start: '2027-02-01T08:00:00Z', End: '2027-02-01T09:30:00Z' };
const person = { PersonId: 2, DisplayName: 'Lukas Frei' };

export const newBooking = {
  ResourceId: place.ResourceId,
  Subject: 'Fachschaft Physik',
  ...times,
  SetupMinutes: 15,
  OrganizerId: person.PersonId,
  RecurrenceRule: 'FREQ=WEEKLY;COUNT=3',
  ConflictHandling: 'Skip',
};
export const bookingChanges = { Subject: 'Fachschaft Physik und Chemie', Description: null };
export const extension = { Minutes: 15 };
export const decision = { Verdict: 'Declined', Reason: 'The room is being painted.' };

export const booking = {
  Id: 4711,
  Uid: 'booking-4711@0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11',
  ...place,
  LocationId: 1,
  Subject: newBooking.Subject,
  Description: null,
  ...times,
  TimeZone: 'Europe/Zurich',
  Status: 'Confirmed',
  Kind: 'Booking',
  Organizer: { ...person, Email: 'lukas.frei@demo.example' },
  IsPrivate: false,
  SeriesId: 12,
  RecurrenceRule: newBooking.RecurrenceRule,
  SetupMinutes: newBooking.SetupMinutes,
  TeardownMinutes: 0,
  CheckIn: {
    Required: true,
    From: '2027-02-01T07:45:00Z',
    Until: '2027-02-01T08:15:00Z',
    CheckedInAt: null,
  },
  Origin: { System: 'Api', BatchId: null, JobID: null, LektionId: null, MailItemId: null },
  Lektion: null,
  CreatedAt: '2027-01-11T09:12:00Z',
  CreatedBy: person,
  Decision: null,
  ChangedAt: '2027-01-11T09:12:00Z',
  Version: 1,
};

export const createdBooking = {
  ...booking,
  Series: {
    SeriesId: booking.SeriesId,
    RecurrenceRule: newBooking.RecurrenceRule,
    BookingIds: [4711, 4712],
    Skipped: [
      {
        Start: '2027-02-15T08:00:00Z',
        End: '2027-02-15T09:30:00Z',
        Conflicts: [
          {
            BookingId: 4205,
            ResourceId: place.ResourceId,
            Kind: 'Lesson',
            Subject: 'Analysis II',
            Start: '2027-02-15T08:15:00Z',
            End: '2027-02-15T09:00:00Z',
            WantedStart: '2027-02-15T08:00:00Z',
          },
        ],
      },
    ],
  },
};

export const declined = {
  Status: 'Declined',
  CheckIn: null,
  Decision: {
    ...decision,
    DecidedAt: '2027-01-11T10:00:00Z',
    DecidedBy: { PersonId: 3, DisplayName: 'Anna Weber' },
  },
};
export const changed = (changes: object) => ({ ...booking, ...changes, Version: 2 });
export const page = { Items: [booking], NextCursor: null };
