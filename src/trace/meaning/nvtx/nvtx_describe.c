/*
 * Names and arguments of NVTX's events, and payloads as JSON by their schemas, with names instead of numbers where the
 * program gave names.
 */
#include "trace/meaning/nvtx/nvtx_describe.h"

#include <math.h>
#include <stdio.h>

#include "common/json_out.h"
#include "common/memory.h"
#include "common/text.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/payload_view.h"
#include "trace/spool/agent_records.h"

bool describe_nvtx_domain(struct args *args, const struct nvtx *nvtx, uint32_t domain)
{
    struct nvtx_text name = nvtx_domain_name(nvtx, domain);
    if (name.text)
        args_text(args, ARG_DOMAIN, name.text, name.length);
    return name.text != NULL;
}

void describe_nvtx_category(struct args *args, const struct nvtx *nvtx, uint32_t domain, uint32_t category, bool is_set)
{
    struct nvtx_text name = nvtx_category_name(nvtx, domain, category);
    if (name.text)
        args_text(args, ARG_CATEGORY, name.text, name.length);
    else if (is_set)
        args_u64(args, ARG_CATEGORY, category);
}

struct name nvtx_message_name(struct nvtx_text message)
{
    static const char none[] = "(no message)";
    return message.length ? name_passing(message.text, message.length) : name_passing(none, sizeof(none) - 1);
}

struct row nvtx_thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

/* Writes a payload, which is assembled from its copies only now, when its event is written. */
static void put_payload(struct buffer *buffer, const struct arg_json *arg)
{
    struct payload_view view;
    struct json_out json;
    json_out_init(&json, buffer, false);
    payload_view_open(&view, arg->context, arg->domain, arg->number);
    payload_put(&view, &json, arg->stride, arg->index);
}

void describe_nvtx_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key, const struct arg_json *payload)
{
    struct payload_view view;
    payload_view_open(&view, nvtx, payload->domain, payload->number);
    if (payload_view_shown(&view) == 0)
        return;
    struct arg *arg = args_add(args, key, ARG_TYPE_JSON);
    arg->json = *payload;
    arg->json.put = put_payload;
    arg->json.context = nvtx;
    struct nvtx_text schema = payload_view_schema(&view);
    if (schema.text && key == ARG_PAYLOAD)
        args_text(args, ARG_SCHEMA, schema.text, schema.length);
}

static void describe_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key, const struct event *event)
{
    uint64_t bits = event->nvtx.payload;
    uint32_t low = (uint32_t)bits;
    switch (event->nvtx.payload_type) { /* nvtxPayloadType_t */
    case 1: args_u64(args, key, bits); break;
    case 2: args_i64(args, key, (int64_t)bits); break;
    case 3: args_real(args, key, ARG_TYPE_REAL, LOAD(double, &bits)); break;
    case 4: args_u64(args, key, low); break;
    case 5: args_i64(args, key, (int32_t)low); break;
    case 6: args_real(args, key, ARG_TYPE_REAL, (double)LOAD(float, &low)); break;
    case SPOOL_NVTX_PAYLOAD_PIECES:
        describe_nvtx_payload(args, nvtx, key, &(struct arg_json){.number = bits, .domain = event->nvtx.domain});
        break;
    default: break;
    }
}

void describe_nvtx_event(struct args *args, const struct nvtx *nvtx, const struct event *event)
{
    uint32_t domain = event->nvtx.domain, category = event->nvtx.category;
    if (!describe_nvtx_domain(args, nvtx, domain) && domain != 0)
        args_u64(args, ARG_DOMAIN, domain);
    describe_nvtx_category(args, nvtx, domain, category, category != 0);
    if (event->nvtx.color_type == 1)
        args_add(args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = event->nvtx.color;
    describe_payload(args, nvtx, ARG_PAYLOAD, event);
}

/* Sets EVENT to the push or start of a range, as replaced by END, its pop or end, which is read if it has payloads. */
static void read_range(struct event *event, struct event *end, const struct nvtx_range *range)
{
    *event = agent_read(range->record, range->thread);
    if (!range->end_record)
        return;
    *end = agent_read(range->end_record, range->end_thread);
    if (end->text_length > 0 || end->nvtx.string != 0) {
        event->text = end->text;
        event->text_length = end->text_length;
        event->nvtx.string = end->nvtx.string;
    }
    if (end->nvtx.color_type != 0) {
        event->nvtx.color_type = end->nvtx.color_type;
        event->nvtx.color = end->nvtx.color;
    }
    if (end->nvtx.category != 0)
        event->nvtx.category = end->nvtx.category;
}

struct name nvtx_range_name(const struct nvtx *nvtx, const struct nvtx_range *range)
{
    struct event event, end;
    read_range(&event, &end, range);
    return nvtx_message_name(nvtx_message(nvtx, &event));
}

struct name describe_nvtx_range(struct args *args, const struct nvtx *nvtx, const struct nvtx_range *range, bool shown)
{
    struct event event, end;
    args->count = 0;
    read_range(&event, &end, range);
    describe_nvtx_event(args, nvtx, &event);
    if (range->end_record && shown)
        describe_payload(args, nvtx, ARG_END_PAYLOAD, &end);
    if (range->open_at_end && shown)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    return nvtx_message_name(nvtx_message(nvtx, &event));
}

#define BYTES_SHOWN 256u   /* of an array of bytes; the rest is left out */
#define ENUM_TEXT_MAX 512u /* bytes for the names of all bits of a value */
#define DEPTH_MAX 24       /* nesting of values; json_out can nest deeper */

/* --- numbers and texts --- */

void payload_put_number(struct json_out *json, const struct payload_number *number)
{
    if (number->kind == PAYLOAD_NUMBER_SIGNED)
        json_i64(json, number->i64);
    else if (number->kind == PAYLOAD_NUMBER_UNSIGNED)
        json_u64(json, number->u64);
    else if (isfinite(number->real))
        json_double(json, number->real, -1);
    else
        json_string(json, isnan(number->real) ? "NaN" : number->real > 0 ? "Infinity" : "-Infinity");
}

/* Writes COUNT characters of a string or character type, as UTF-8, up to the first zero. */
static void put_characters(struct json_out *json, uint64_t type, const uint8_t *bytes, uint64_t count)
{
    uint64_t width = payload_bytes_of(type);
    uint64_t length = payload_text_length(bytes, count * width, width);
    if (width == 1) {
        json_string_n(json, (const char *)bytes, (size_t)length);
        return;
    }
    size_t space = (size_t)length * 4 + 1;
    char *text = malloc(space);
    size_t used = text ? utf8_from_units(text, space, bytes, (size_t)length, (size_t)width) : 0;
    json_string_n(json, text ? text : "", used);
    free(text);
}

static void put_bytes(struct json_out *json, const uint8_t *bytes, uint64_t count)
{
    static const char digits[] = "0123456789abcdef";
    static const char more[] = "…";
    char text[2 * BYTES_SHOWN + sizeof(more)], *at = text;
    for (uint64_t i = 0; i < count && i < BYTES_SHOWN; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    if (count > BYTES_SHOWN) {
        memcpy(at, more, sizeof(more) - 1);
        at += sizeof(more) - 1;
    }
    json_string_n(json, text, (size_t)(at - text));
}

static void put_hex(struct json_out *json, uint64_t value)
{
    char text[NUMBER_SPACE];
    json_string_n(json, text, (size_t)(number_hex(text, value) - text));
}

static void put_wide(struct json_out *json, const uint8_t *bytes, bool is_signed)
{
    unsigned __int128 value = (unsigned __int128)payload_load(bytes + 8, 8) << 64 | payload_load(bytes, 8);
    bool negative = is_signed && (bytes[15] & 0x80) != 0;
    char digits[48], *at = digits + sizeof(digits);
    if (negative)
        value = -value;
    do
        *--at = (char)('0' + (int)(value % 10));
    while ((value /= 10) != 0);
    if (negative)
        *--at = '-';
    json_string_n(json, at, (size_t)(digits + sizeof(digits) - at));
}

static const struct nvtx_text *name_of_value(const struct payload_described *schema, uint64_t value)
{
    for (uint32_t i = 0; i < schema->layout.count; i++)
        if (schema->entries[i].detail == value && schema->words[i].name.text)
            return &schema->words[i].name;
    return NULL;
}

/* Writes the names of bits, and bits without a name as a number: "READ | WRITE | 0x40". */
static void put_bits(struct json_out *json, const struct payload_described *schema, uint64_t value)
{
    char text[ENUM_TEXT_MAX];
    size_t length = 0;
    uint64_t rest = value;
    for (uint32_t i = 0; i < schema->layout.count; i++) {
        const struct nvtx_text *name = &schema->words[i].name;
        uint64_t bits = schema->entries[i].detail;
        if (!schema->entries[i].flags || !name->text || bits == 0 || (rest & bits) != bits ||
            length + name->length + 32 > sizeof(text))
            continue;
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s", length ? " | " : "",
                                   (int)name->length, name->text);
        rest &= ~bits;
    }
    if (length == 0) {
        json_u64(json, value);
        return;
    }
    if (rest != 0)
        length += (size_t)snprintf(text + length, sizeof(text) - length, " | 0x%llx", (unsigned long long)rest);
    json_string_n(json, text, length);
}

static void put_enum(struct json_out *json, const struct payload_described *schema, const uint8_t *bytes, uint64_t size)
{
    uint64_t value = payload_load(bytes, size);
    unsigned unused = size > 0 && size < 8 ? 64 - 8 * (unsigned)size : 0;
    /* The program may have registered a negative value of the type, widened to 64 bits. */
    uint64_t widened = (uint64_t)((int64_t)(value << unused) >> unused);
    const struct nvtx_text *name = name_of_value(schema, value);
    name = name ? name : name_of_value(schema, widened);
    if (name)
        json_string_n(json, name->text, name->length);
    else
        put_bits(json, schema, value);
}

/* --- single values --- */

static void put_category(const struct payload_view *view, struct json_out *json, uint32_t category)
{
    struct nvtx_text name = nvtx_category_name(view->nvtx, view->domain, category);
    if (name.text)
        json_string_n(json, name.text, name.length);
    else
        json_u64(json, category);
}

static void put_color(struct json_out *json, uint32_t color)
{
    char text[16];
    int length = color >> 24 == 0xff ? snprintf(text, sizeof(text), "#%06x", color & 0xffffff)
                                     : snprintf(text, sizeof(text), "#%08x", color);
    json_string_n(json, text, (size_t)length);
}

static void put_scope(const struct payload_view *view, struct json_out *json, uint64_t scope)
{
    struct buffer path;
    buffer_init_memory(&path);
    nvtx_scopes_put(&view->nvtx->scopes, &path, view->domain, scope);
    json_string_n(json, path.data, path.length);
    buffer_release(&path);
}

static void put_handle(const struct payload_view *view, struct json_out *json, uint64_t handle)
{
    uint64_t size;
    const uint8_t *text = payload_copies_string(&view->nvtx->copies, view->number, handle, &size);
    if (text)
        json_string_n(json, (const char *)text, (size_t)size);
    else if (handle == 0)
        json_string(json, NULL);
    else
        put_hex(json, handle);
}

static void put_predefined(const struct payload_view *view, struct json_out *json, uint64_t type, const uint8_t *bytes)
{
    struct payload_number number;
    switch (payload_value_of(type)) {
    case PAYLOAD_CHARACTER: put_characters(json, type, bytes, 1); break;
    case PAYLOAD_ADDRESS: put_hex(json, payload_load(bytes, 8)); break;
    case PAYLOAD_BYTES: put_bytes(json, bytes, 1); break;
    case PAYLOAD_CATEGORY: put_category(view, json, (uint32_t)payload_load(bytes, 4)); break;
    case PAYLOAD_COLOR: put_color(json, (uint32_t)payload_load(bytes, 4)); break;
    case PAYLOAD_SCOPE: put_scope(view, json, payload_load(bytes, 8)); break;
    case PAYLOAD_HANDLE: put_handle(view, json, payload_load(bytes, 8)); break;
    case PAYLOAD_SELECTOR: json_u64(json, payload_load(bytes, 4)); break;
    default:
        if (payload_number(&number, type, bytes))
            payload_put_number(json, &number);
        else
            put_wide(json, bytes, payload_value_of(type) == PAYLOAD_SIGNED);
    }
}

/* --- arrays and nested values --- */

/* A field that is written. Its first element is at BYTES, where SIZE bytes are readable. */
struct value {
    struct payload_view *view;
    struct json_out *json;
    const struct payload_cursor *cursor;
    const struct payload_field *field;
    const uint8_t *bytes;
    uint64_t size;
    uint64_t next; /* index of the next element of an array */
};

static void put_field(struct payload_view *view, struct json_out *json, const struct payload_cursor *cursor,
                      struct payload_field *field);

static void put_members(struct payload_view *view, struct json_out *json, struct payload_cursor *cursor)
{
    const struct payload_described *schema = (const struct payload_described *)cursor->schema;
    struct payload_field field;
    json_begin_object(json);
    while (payload_next(cursor, &field) && view->values_left > 0) {
        if (field.entry->flags & PAYLOAD_FLAG_HIDE)
            continue;
        /* The key is the entry's name, or "#" and the entry's number if an earlier entry has that name. */
        uint32_t index = field.index;
        const struct nvtx_text *name = &schema->words[index].name;
        char text[32];
        bool taken = name->text == NULL;
        for (uint32_t i = 0; i < index && !taken; i++) {
            const struct nvtx_text *other = &schema->words[i].name;
            taken = other->length == name->length && other->text && memcmp(other->text, name->text, name->length) == 0;
        }
        if (taken)
            json_key_text(json, text, (size_t)snprintf(text, sizeof(text), "#%u", index));
        else
            json_key_text(json, name->text, name->length);
        put_field(view, json, cursor, &field);
    }
    json_end(json);
}

/* Writes element N of a field that a schema describes. */
static void put_nested(const struct value *value, uint64_t n)
{
    struct payload_cursor inner, from = *value->cursor;
    struct payload_field field = *value->field;
    if (field.nested->kind == PAYLOAD_ENUM) {
        put_enum(value->json, (const struct payload_described *)field.nested, value->bytes + n * field.unit,
                 field.unit);
        return;
    }
    if (field.pointer) { /* the walk starts over at what the pointer leads to */
        from.bytes = value->bytes;
        from.size = value->size;
        field.at = 0;
    }
    if (field.nested->kind == PAYLOAD_UNION_SELECTED)
        field.member = payload_selected(&from, field.nested, field.at + n * field.unit);
    bool is_union = field.nested->kind == PAYLOAD_UNION || field.nested->kind == PAYLOAD_UNION_SELECTED;
    if ((is_union && field.member == PAYLOAD_NO_MEMBER) || value->json->depth >= DEPTH_MAX ||
        !payload_enter(&inner, &from, &field, n))
        json_string(value->json, NULL);
    else
        put_members(value->view, value->json, &inner);
}

static void put_element(const struct value *value, uint64_t n)
{
    const struct payload_field *field = value->field;
    if (value->view->values_left > 0)
        value->view->values_left--;
    if (field->nested)
        put_nested(value, n);
    else if (field->form == PAYLOAD_TEXTS_OF)
        put_characters(value->json, field->entry->type, value->bytes + n * field->unit, field->characters);
    else
        put_predefined(value->view, value->json, field->entry->type, value->bytes + n * field->unit);
}

static void put_dimension(struct value *value, uint32_t dimension)
{
    const struct payload_field *field = value->field;
    bool last = dimension + 1 >= field->dimensions || value->json->depth >= DEPTH_MAX;
    uint64_t count = field->dimensions ? field->dimension[dimension] : field->count;
    json_begin_array(value->json);
    for (uint64_t i = 0; i < count && value->next < field->count && value->view->values_left > 0; i++) {
        if (last)
            put_element(value, value->next++);
        else
            put_dimension(value, dimension + 1);
    }
    json_end(value->json);
}

static void put_array(struct value *value)
{
    const struct payload_field *field = value->field;
    enum payload_value type = field->nested ? PAYLOAD_NONE : payload_value_of(field->entry->type);
    if (type == PAYLOAD_CHARACTER && field->dimensions == 0)
        put_characters(value->json, field->entry->type, value->bytes, field->count);
    else if (type == PAYLOAD_BYTES && field->dimensions == 0)
        put_bytes(value->json, value->bytes, field->count);
    else
        put_dimension(value, 0);
}

static void put_field(struct payload_view *view, struct json_out *json, const struct payload_cursor *cursor,
                      struct payload_field *field)
{
    struct value value = {.view = view, .json = json, .cursor = cursor, .field = field};
    value.bytes = payload_view_bytes(view, cursor, field, &value.size);
    if (!value.bytes && field->address == 0)
        json_string(json, NULL);
    else if (!value.bytes || json->depth >= DEPTH_MAX)
        put_hex(json, field->address);
    else if (field->form == PAYLOAD_TEXT)
        put_characters(json, field->entry->type, value.bytes, field->count);
    else if (field->form != PAYLOAD_ONE)
        put_array(&value);
    else if (field->count > 0 && (field->unit <= value.size || field->nested))
        put_element(&value, 0);
    else
        json_string(json, NULL);
}

/* Writes a payload whose schema is a type of NVTX's: as many values as fit in it. */
static void put_plain(struct payload_view *view, struct json_out *json, const struct payload_blob *blob)
{
    uint64_t unit = payload_bytes_of(blob->schema);
    struct payload_entry entry = {.type = blob->schema};
    struct payload_field field = {.entry = &entry, .form = PAYLOAD_ARRAY_OF, .unit = unit};
    struct payload_cursor cursor;
    if (unit == 0) {
        put_bytes(json, blob->bytes, blob->size);
        return;
    }
    field.count = blob->size / unit;
    payload_begin(&cursor, &view->reader, NULL, blob->bytes, blob->size, 0);
    if (payload_value_of(blob->schema) == PAYLOAD_STRING)
        put_characters(json, blob->schema, blob->bytes, field.count);
    else if (field.count == 1)
        put_predefined(view, json, blob->schema, blob->bytes);
    else
        put_array(&(struct value){view, json, &cursor, &field, blob->bytes, blob->size, 0});
}

static void put_blob(struct payload_view *view, struct json_out *json, const struct payload_blob *blob, uint64_t start)
{
    const struct payload_described *schema = payload_view_described(view, blob->schema);
    struct payload_cursor cursor;
    if (!blob->bytes || start > blob->size) {
        json_string(json, NULL);
    } else if (!schema) {
        put_plain(view, json, blob);
    } else if (schema->layout.kind == PAYLOAD_ENUM) {
        put_enum(json, schema, blob->bytes, schema->layout.size < blob->size ? schema->layout.size : blob->size);
    } else {
        payload_begin(&cursor, &view->reader, &schema->layout, blob->bytes, blob->size, start);
        if (schema->layout.kind == PAYLOAD_UNION_SELECTED)
            cursor.member = payload_selected(&cursor, &schema->layout, start);
        put_members(view, json, &cursor);
    }
}

void payload_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n)
{
    if (stride != 0) {
        if (view->reader.blob_count > 0 && n < view->blobs[0].size / stride)
            put_blob(view, json, &view->blobs[0], n * stride);
        else
            json_string(json, NULL);
        return;
    }
    unsigned shown = payload_view_shown(view);
    if (shown > 1)
        json_begin_array(json);
    for (size_t i = 0; i < view->reader.blob_count; i++)
        if (payload_view_shows(view, &view->blobs[i]))
            put_blob(view, json, &view->blobs[i], 0);
    if (shown > 1)
        json_end(json);
}
