/** What changes are about: the records of other rooms, as the viewer may see them now. */
export { type Booking, findBooking } from '../bookings/service.ts';
export { type Batch, findBatch } from '../lessons/service.ts';
export { getLocation, getResource, type Location, type Resource } from '../tenants/service.ts';
