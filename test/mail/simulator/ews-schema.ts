/** What requests look like: the order of the children of those elements whose order the schema fixes. */
import type { Element } from './xml.ts';

/** Of the names of the children, with a blank after each. */
const models: Record<string, RegExp> = {
  's:Envelope': /^(s:Header )?s:Body $/,
  's:Body': /^m:\w+ $/,
  't:ExchangeImpersonation': /^t:ConnectingSID $/,
  't:ConnectingSID': /^t:(PrincipalName|SID|PrimarySmtpAddress|SmtpAddress) $/,
  'm:Subscribe': /^m:(Pull|Push|Streaming)SubscriptionRequest $/,
  'm:PushSubscriptionRequest': /^(t:FolderIds )?t:EventTypes (t:Watermark )?t:StatusFrequency t:URL (t:CallerData )?$/,
  't:FolderIds': /^(t:(FolderId|DistinguishedFolderId) )+$/,
  't:EventTypes': /^(t:EventType )+$/,
  'm:Unsubscribe': /^m:SubscriptionId $/,
  'm:SyncFolderItems': /^m:ItemShape m:SyncFolderId (m:SyncState )?(m:Ignore )?m:MaxChangesReturned (m:SyncScope )?$/,
  'm:SyncFolderId': /^t:(FolderId|DistinguishedFolderId|AddressListId) $/,
  'm:FindItem':
    /^m:ItemShape (m:(IndexedPageItemView|FractionalPageItemView|SeekToConditionPageItemView|CalendarView|ContactsView) )?(m:(GroupBy|DistinguishedGroupBy) )?(m:Restriction )?(m:SortOrder )?m:ParentFolderIds (m:QueryString )?$/,
  'm:ParentFolderIds': /^(t:(FolderId|DistinguishedFolderId) )+$/,
  'm:ItemShape':
    /^t:BaseShape (t:IncludeMimeContent )?(t:BodyType )?(t:UniqueBodyType )?(t:NormalizedBodyType )?(t:FilterHtmlContent )?(t:ConvertHtmlCodePageToUTF8 )?(t:InlineImageUrlTemplate )?(t:BlockExternalImages )?(t:AddBlankTargetToLinks )?(t:MaximumBodySize )?(t:AdditionalProperties )?$/,
  'm:FolderShape': /^t:BaseShape (t:AdditionalProperties )?$/,
  't:AdditionalProperties': /^(t:(FieldURI|IndexedFieldURI|ExtendedFieldURI) )+$/,
  'm:GetItem': /^m:ItemShape m:ItemIds $/,
  'm:ItemIds': /^(t:(ItemId|OccurrenceItemId|RecurringMasterItemId|RecurringMasterItemIdRanges) )+$/,
  'm:GetFolder': /^m:FolderShape m:FolderIds $/,
  'm:FolderIds': /^(t:(FolderId|DistinguishedFolderId) )+$/,
  'm:CreateItem': /^(m:SavedItemFolderId )?m:Items $/,
  'm:UpdateItem': /^(m:SavedItemFolderId )?m:ItemChanges $/,
  'm:Items': /^(t:(CalendarItem|DeclineItem) )+$/,
  't:DeclineItem':
    /^(t:ItemClass )?(t:Sensitivity )?(t:Body )?(t:Attachments )?(t:InternetMessageHeaders )?(t:Sender )?(t:ToRecipients )?(t:CcRecipients )?(t:BccRecipients )?(t:IsReadReceiptRequested )?(t:IsDeliveryReceiptRequested )?(t:ReferenceItemId )?(t:ProposedStart )?(t:ProposedEnd )?$/,
  't:CalendarItem':
    /^(t:ItemId )?(t:ParentFolderId )?(t:ItemClass )?(t:Subject )?(t:Sensitivity )?(t:Body )?(t:Categories )?(t:Importance )?(t:ReminderDueBy )?(t:ReminderIsSet )?(t:ReminderMinutesBeforeStart )?(t:ExtendedProperty )*(t:Culture )?(t:UID )?(t:RecurrenceId )?(t:Start )?(t:End )?(t:OriginalStart )?(t:IsAllDayEvent )?(t:LegacyFreeBusyStatus )?(t:Location )?(t:When )?(t:IsMeeting )?(t:IsCancelled )?(t:\w+ )*$/,
  't:ExtendedProperty': /^t:ExtendedFieldURI t:(Value|Values) $/,
  't:Updates': /^(t:(SetItemField|DeleteItemField|AppendToItemField) )+$/,
  't:SetItemField': /^t:(FieldURI|IndexedFieldURI|ExtendedFieldURI) t:CalendarItem $/,
  'm:Restriction': /^t:(And|Or|Not|IsEqualTo|IsNotEqualTo|Contains|Exists|IsGreaterThan|IsLessThan) $/,
  't:Or': /^(t:(And|Or|Not|IsEqualTo|IsNotEqualTo|Contains|Exists|IsGreaterThan|IsLessThan) )+$/,
  't:IsEqualTo': /^t:(FieldURI|IndexedFieldURI|ExtendedFieldURI) t:FieldURIOrConstant $/,
  't:FieldURIOrConstant': /^t:(FieldURI|IndexedFieldURI|ExtendedFieldURI|Constant) $/,
  't:ItemChange': /^t:(ItemId|OccurrenceItemId|RecurringMasterItemId) t:Updates $/,
  'm:DeleteItem': /^m:ItemIds $/,
  't:DistinguishedFolderId': /^(t:Mailbox )?$/,
  't:Mailbox': /^(t:Name )?(t:EmailAddress )?(t:RoutingType )?(t:MailboxType )?(t:ItemId )?(t:OriginalDisplayName )?$/,
};

const attributes: Record<string, Record<string, RegExp>> = {
  't:RequestServerVersion': { Version: /^Exchange20(07(_SP1)?|10(_SP[12])?|13(_SP1)?|15|16)$/ },
  't:FieldURI': {
    FieldURI:
      /^(item|folder|calendar|message|meeting|meetingRequest|task|contacts|postitem|conversation|persona|distributionlist):\w+(:\w+)?$/,
  },
  't:ItemId': { Id: /./ },
  't:ReferenceItemId': { Id: /./ },
  't:Body': { BodyType: /^(HTML|Text)$/ },
  'm:FindItem': { Traversal: /^(Shallow|SoftDeleted|Associated)$/ },
  'm:CalendarView': { StartDate: /^\d{4}-\d\d-\d\dT\d\d:\d\d/, EndDate: /^\d{4}-\d\d-\d\dT\d\d:\d\d/ },
  't:ExtendedFieldURI': { PropertyType: /^(String|Integer|Boolean|SystemTime|Binary|StringArray)$/ },
  't:Constant': { Value: /^/ },
  'm:IndexedPageItemView': { Offset: /^\d+$/, BasePoint: /^(Beginning|End)$/ },
  'm:DeleteItem': { DeleteType: /^(HardDelete|SoftDelete|MoveToDeletedItems)$/ },
  'm:UpdateItem': { ConflictResolution: /^(NeverOverwrite|AutoResolve|AlwaysOverwrite)$/ },
};

const texts: Record<string, (text: string) => boolean> = {
  't:BaseShape': (text) => /^(IdOnly|Default|AllProperties|PcxPeopleSearch)$/.test(text),
  't:EventType': (text) => /^(Copied|Created|Deleted|Modified|Moved|NewMail|FreeBusyChanged)Event$/.test(text),
  't:StatusFrequency': (text) => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 1_440,
  'm:MaxChangesReturned': (text) => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 512,
  'm:SyncScope': (text) => /^(NormalItems|NormalAndAssociatedItems)$/.test(text),
  't:URL': (text) => /^https?:\/\/\S+$/.test(text),
};

/** The first thing that the schema forbids; undefined when all is well. */
export function findFault(element: Element): string | undefined {
  const { name, children, text } = element;
  const names = children.map((child) => `${child.name} `).join('');
  if (models[name] && !models[name].test(names)) return `The element '${name}' has invalid children: ${names.trim()}`;
  for (const [attribute, form] of Object.entries(attributes[name] ?? {}))
    if (!form.test(element.attributes[attribute] ?? '')) return `The '${attribute}' attribute of '${name}' is invalid.`;
  if (texts[name] && !texts[name](text.trim())) return `The '${name}' element is invalid: '${text}'`;
  return children.map(findFault).find((fault) => fault !== undefined);
}
