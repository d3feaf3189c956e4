/**
 * Tenants and their master data. A **mandator** is a tenant; its code is the first path segment of every URL. A **location**
 * is a site with a time zone, a **resource** a bookable room or thing of a location, a **person** a user of the tenant. Persons
 * belong to **groups**; a **policy** says what groups may do with the resources that have it.
 */
export { type Applied, type AppliedRecord, applyTenantFile, previewTenantFile, writeTenant } from './apply.ts';
export { changeDisplayPerson, createDisplayPerson } from './display-persons.ts';
export { person as personExample, resource as resourceExample } from './examples.ts';
export { exportTenant } from './export.ts';
export {
  changeGroup,
  createGroup,
  deleteGroup,
  findGroup,
  getGroup,
  groupList,
  listGroups,
  listGroupsOf,
} from './groups.ts';
export {
  changeLocation,
  createLocation,
  findLocation,
  getLocation,
  holdActiveLocation,
  type Location,
  listAllLocations,
  listLocations,
  locationList,
} from './locations.ts';
export { findLogo } from './look.ts';
export { getMandator, getOnlyTenant, listTenants, noTenantYet, setParameter } from './mandators.ts';
export { listOrganizers, organizerList } from './organizers.ts';
export { readParameterName } from './parameters.ts';
export { personErased } from './person-conflicts.ts';
export {
  changePerson,
  createPerson,
  erasePersonRecord,
  findPersonById,
  findPersonFor,
  getOwnPerson,
  getPerson,
  getPersonById,
  getTeacherCode,
  listMembersOf,
  listPersons,
  listPersonsOf,
  type PersonRecord,
  personList,
} from './persons.ts';
export {
  changePolicy,
  createPolicy,
  deletePolicy,
  findPolicy,
  getPolicy,
  listPolicies,
  policyColumns,
  policyList,
} from './policies.ts';
export {
  changeResource,
  createResource,
  findResource,
  getResource,
  listResources,
  listResourcesOf,
  type Resource,
  type ResourceFilter,
  resourceList,
  retireResource,
  selectResources,
} from './resources.ts';
export { changeTenant, getTenant, type Tenant } from './tenant.ts';
export { readTenantFile, type TenantFile } from './tenant-file.ts';
export {
  personRecord,
  personReference,
  resourceRecord,
  toPersonRecord,
  toPersonReference,
  toResourceRecord,
} from './wire.ts';
