/*
 * Walks over payloads: where each entry of a schema lies, and that nothing a schema or a payload says leads out of it.
 */
#include "common/payload.h"

#include "tests/unit.h"

#define SCHEMAS_MAX 8

static struct payload_schema schemas[SCHEMAS_MAX];
static size_t schema_count;

static const struct payload_schema *find(const void *context, uint64_t id)
{
    (void)context;
    for (size_t i = schema_count; i > 0; i--)
        if (schemas[i - 1].id == id)
            return &schemas[i - 1];
    return NULL;
}

static struct payload_reader reader_of(void)
{
    return (struct payload_reader){.find = find, .budget = PAYLOAD_BUDGET};
}

static const struct payload_schema *add(enum payload_schema_kind kind, const struct payload_entry *entries,
                                        uint32_t count, uint64_t size, uint64_t pack)
{
    struct payload_schema *schema = &schemas[schema_count];
    struct payload_reader reader = reader_of();
    *schema = (struct payload_schema){.id = PAYLOAD_FIRST_SCHEMA + schema_count,
                                      .kind = kind,
                                      .size = size,
                                      .pack = pack,
                                      .entries = entries,
                                      .count = count};
    payload_measure(schema, &reader);
    schema_count++;
    return schema;
}
#define ADD(kind, entries) add(PAYLOAD_##kind, entries, sizeof(entries) / sizeof(*(entries)), 0, 0)

UNIT_FIXTURE(forget)
{
    schema_count = 0;
    return 0;
}

/* Puts the places of all fields into AT; gives how many there are. */
static unsigned places(const struct payload_schema *schema, const void *bytes, size_t size,
                       struct payload_field *fields, unsigned space)
{
    struct payload_reader reader = reader_of();
    struct payload_cursor cursor;
    unsigned count = 0;
    payload_begin(&cursor, &reader, schema, bytes, size, 0);
    while (count < space && payload_next(&cursor, &fields[count]))
        count++;
    return count;
}

UNIT_TEST_WITH(test_structs_are_laid_out_as_c_does, forget, NULL)
{
    static const struct payload_entry inner[] = {{.type = PAYLOAD_TYPE_CHAR}, {.type = PAYLOAD_TYPE_DOUBLE}};
    ADD(STATIC, inner);
    static const struct payload_entry outer[] = {
        {.type = PAYLOAD_TYPE_INT8},
        {.type = PAYLOAD_FIRST_SCHEMA},
        {.type = PAYLOAD_TYPE_INT16, .flags = PAYLOAD_FLAG_ARRAY_FIXED, .detail = 3},
        {.type = PAYLOAD_FIRST_SCHEMA, .flags = PAYLOAD_FLAG_ARRAY_FIXED, .detail = 2},
        {.type = PAYLOAD_TYPE_CSTRING, .detail = 5},
        {.type = PAYLOAD_TYPE_CSTRING},
        {.type = PAYLOAD_TYPE_FLOAT, .offset = 100},
    };
    struct c {
        int8_t a;
        struct {
            char c;
            double d;
        } b;
        int16_t c[3];
        struct {
            char c;
            double d;
        } d[2];
        char e[5];
        const char *f;
    } c = {0};
    uint8_t bytes[104] = {0};
    struct payload_field fields[8];
    const struct payload_schema *schema = ADD(STATIC, outer);
    memcpy(bytes, &c, sizeof(c));
    assert_int_equal(schemas[0].size, 16);
    assert_int_equal(schema->size, 104);
    assert_int_equal(places(schema, bytes, sizeof(bytes), fields, 8), 7);
    assert_int_equal(fields[1].at, offsetof(struct c, b));
    assert_int_equal(fields[2].at, offsetof(struct c, c));
    assert_int_equal(fields[2].count, 3);
    assert_int_equal(fields[3].at, offsetof(struct c, d));
    assert_int_equal(fields[3].unit, 16);
    assert_int_equal(fields[4].at, offsetof(struct c, e));
    assert_int_equal(fields[4].form, PAYLOAD_TEXT);
    assert_true(fields[5].pointer && fields[5].address == 0);
    assert_int_equal(fields[6].at, 100);
}

UNIT_TEST_WITH(test_packed_structs_leave_no_gaps, forget, NULL)
{
    static const struct payload_entry entries[] = {{.type = PAYLOAD_TYPE_INT8}, {.type = PAYLOAD_TYPE_DOUBLE}};
    const struct payload_schema *schema = add(PAYLOAD_STATIC, entries, 2, 0, 1);
    const uint8_t bytes[9] = {0};
    struct payload_field fields[2];
    assert_int_equal(schema->size, 9);
    assert_int_equal(places(schema, bytes, sizeof(bytes), fields, 2), 2);
    assert_int_equal(fields[1].at, 1);
}

UNIT_TEST_WITH(test_lengths_come_from_other_entries, forget, NULL)
{
    static const struct payload_entry entries[] = {
        {.type = PAYLOAD_TYPE_INT16},
        {.type = PAYLOAD_TYPE_UINT8, .flags = PAYLOAD_FLAG_ARRAY_LENGTH, .detail = 0},
        {.type = PAYLOAD_TYPE_UINT8, .flags = PAYLOAD_FLAG_ARRAY_FIXED, .detail = 2},
        {.type = PAYLOAD_TYPE_UINT8, .flags = PAYLOAD_FLAG_ARRAY_LENGTH, .detail = 2},
        {.type = PAYLOAD_TYPE_CSTRING, .flags = PAYLOAD_FLAG_ARRAY_TERMINATED},
        {.type = PAYLOAD_TYPE_UINT8},
        {.type = PAYLOAD_TYPE_UINT8, .flags = PAYLOAD_FLAG_ARRAY_LENGTH, .detail = 6}, /* itself: no length */
    };
    static const uint8_t bytes[] = {3, 0, 1, 2, 3, 2, 2, 9, 9, 9, 9, 'h', 'i', 0, 42};
    struct payload_field fields[8];
    assert_int_equal(places(ADD(DYNAMIC, entries), bytes, sizeof(bytes), fields, 8), 7);
    assert_int_equal(fields[1].count, 3);
    assert_int_equal(fields[3].count, 4);
    assert_int_equal(fields[3].dimensions, 2);
    assert_int_equal(fields[3].dimension[1], 2);
    assert_int_equal(fields[4].count, 2);
    assert_int_equal(bytes[fields[5].at], 42);
    assert_int_equal(fields[6].count, 0);
}

UNIT_TEST_WITH(test_a_length_below_zero_is_none, forget, NULL)
{
    static const struct payload_entry entries[] = {
        {.type = PAYLOAD_TYPE_INT32}, {.type = PAYLOAD_TYPE_UINT8, .flags = PAYLOAD_FLAG_ARRAY_LENGTH, .detail = 0}};
    const int32_t bytes[] = {-2, 7};
    struct payload_field fields[2];
    assert_int_equal(places(ADD(DYNAMIC, entries), bytes, sizeof(bytes), fields, 2), 2);
    assert_int_equal(fields[1].count, 0);
}

UNIT_TEST_WITH(test_lengths_come_from_other_payloads, forget, NULL)
{
    static const struct payload_entry entries[] = {
        {.type = PAYLOAD_TYPE_UINT16, .flags = PAYLOAD_FLAG_ARRAY_LENGTH_PAYLOAD, .detail = 0}};
    const struct payload_schema *schema = ADD(DYNAMIC, entries);
    const uint64_t length = 3;
    const uint16_t bytes[5] = {0};
    const struct payload_blob blob = {PAYLOAD_TYPE_SIZE, (const uint8_t *)&length, sizeof(length)};
    struct payload_reader reader = {.find = find, .blobs = &blob, .blob_count = 1, .budget = PAYLOAD_BUDGET};
    struct payload_cursor cursor;
    struct payload_field field;
    payload_begin(&cursor, &reader, schema, (const uint8_t *)bytes, sizeof(bytes), 0);
    assert_true(payload_next(&cursor, &field));
    assert_int_equal(field.count, 3);
}

UNIT_TEST_WITH(test_offsets_lead_to_other_places, forget, NULL)
{
    static const struct payload_entry entries[] = {
        {.type = PAYLOAD_TYPE_INT32, .flags = PAYLOAD_FLAG_OFFSET_FROM_BASE},
        {.type = PAYLOAD_TYPE_CSTRING, .flags = PAYLOAD_FLAG_OFFSET_FROM_HERE | PAYLOAD_FLAG_ARRAY_TERMINATED},
        {.type = PAYLOAD_TYPE_INT32, .flags = PAYLOAD_FLAG_OFFSET_FROM_BASE},
    };
    struct {
        uint64_t base, here, beyond;
        int32_t value;
        char text[4];
    } bytes = {24, 12, UINT64_MAX, 77, "abc"};
    struct payload_field fields[3];
    assert_int_equal(places(ADD(STATIC, entries), &bytes, sizeof(bytes), fields, 3), 2);
    assert_int_equal(fields[0].at, 24);
    assert_int_equal(fields[1].at, 28);
    assert_int_equal(fields[1].count, 3);
}

UNIT_TEST_WITH(test_unions_give_what_is_selected, forget, NULL)
{
    static const struct payload_entry members[] = {{.type = PAYLOAD_TYPE_INT64}, {.type = PAYLOAD_TYPE_DOUBLE}};
    static const struct payload_entry selecting[] = {{.type = PAYLOAD_TYPE_UNION_SELECTOR},
                                                     {.type = PAYLOAD_TYPE_INT8, .offset = 2},
                                                     {.type = PAYLOAD_TYPE_INT16, .offset = 2}};
    static const struct payload_entry outer[] = {
        {.type = PAYLOAD_TYPE_INT32}, {.type = PAYLOAD_FIRST_SCHEMA, .detail = 0}, {.type = PAYLOAD_FIRST_SCHEMA + 1}};
    ADD(UNION, members);
    add(PAYLOAD_UNION_SELECTED, selecting, 3, 4, 0);
    struct {
        int32_t which;
        double real;
        uint16_t selector, value;
    } bytes = {1, 0.5, 2, 9};
    struct payload_field fields[3];
    const struct payload_schema *schema = ADD(STATIC, outer);
    assert_int_equal(places(schema, &bytes, sizeof(bytes), fields, 3), 3);
    assert_int_equal(fields[1].member, 1);
    assert_int_equal(fields[2].member, 2);
    bytes.which = 7;
    bytes.selector = 0; /* the selector is no member */
    assert_int_equal(places(schema, &bytes, sizeof(bytes), fields, 3), 3);
    assert_int_equal(fields[1].member, PAYLOAD_NO_MEMBER);
    assert_int_equal(fields[2].member, PAYLOAD_NO_MEMBER);
}

UNIT_TEST_WITH(test_what_is_cut_off_is_left_out, forget, NULL)
{
    static const struct payload_entry entries[] = {
        {.type = PAYLOAD_TYPE_INT32},
        {.type = PAYLOAD_TYPE_INT32, .flags = PAYLOAD_FLAG_ARRAY_FIXED, .detail = UINT64_MAX},
        {.type = PAYLOAD_TYPE_INT64},
    };
    const uint8_t bytes[13] = {0};
    struct payload_field fields[3];
    assert_int_equal(places(ADD(STATIC, entries), bytes, sizeof(bytes), fields, 3), 2);
    assert_int_equal(fields[1].count, 2); /* as many as are there */
    assert_int_equal(places(schemas, bytes, 3, fields, 3), 0);
}

UNIT_TEST_WITH(test_schemas_that_hold_themselves_come_to_an_end, forget, NULL)
{
    static const struct payload_entry entries[] = {{.type = PAYLOAD_TYPE_INT8}, {.type = PAYLOAD_FIRST_SCHEMA}};
    const uint8_t bytes[16] = {0};
    struct payload_field field;
    struct payload_reader reader = reader_of();
    struct payload_cursor cursors[PAYLOAD_DEPTH + 1];
    for (int kind = PAYLOAD_STATIC; kind <= PAYLOAD_UNION_SELECTED; kind++) {
        schema_count = 0;
        add((enum payload_schema_kind)kind, entries, 2, kind == PAYLOAD_DYNAMIC ? 0 : 1, 0);
        unsigned depth = 0;
        payload_begin(&cursors[0], &reader, schemas, bytes, sizeof(bytes), 0);
        for (;;) {
            bool nested = false;
            while (!nested && payload_next(&cursors[depth], &field))
                nested = field.nested != NULL;
            if (!nested || !payload_enter(&cursors[depth + 1], &cursors[depth], &field, 0))
                break;
            depth++;
        }
        assert_true(depth < PAYLOAD_DEPTH);
    }
}

UNIT_TEST_WITH(test_a_budget_ends_every_walk, forget, NULL)
{
    static struct payload_entry entries[PAYLOAD_ENTRIES_MAX];
    static const uint8_t bytes[64] = {0};
    for (unsigned i = 0; i < PAYLOAD_ENTRIES_MAX; i++)
        entries[i] = (struct payload_entry){.type = PAYLOAD_FIRST_SCHEMA, .offset = 1};
    ADD(DYNAMIC, entries); /* each entry is all of them again */
    struct payload_reader reader = reader_of();
    struct payload_cursor cursor;
    struct payload_field field;
    unsigned fields = 0;
    payload_begin(&cursor, &reader, schemas, bytes, sizeof(bytes), 0);
    while (payload_next(&cursor, &field))
        fields++;
    assert_true(fields <= PAYLOAD_BUDGET);
    assert_int_equal(reader.budget, 0);
}

static uint64_t random_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static struct payload_entry random_entry(uint64_t *seed)
{
    uint64_t bits = random_number(seed);
    struct payload_entry entry = {.flags = bits & 0xffff, .type = bits >> 16 & 127, .detail = bits >> 24 & 15};
    if ((bits >> 32 & 3) == 0)
        entry.type = PAYLOAD_FIRST_SCHEMA + (bits >> 34 & 7);
    if ((bits >> 40 & 7) == 0)
        entry.offset = random_number(seed) >> (bits >> 43 & 63);
    if ((bits >> 50 & 31) == 0)
        entry.detail = random_number(seed);
    return entry;
}

/* Whatever comes, every field lies within the payload. */
static void walk_all(struct payload_cursor *cursor)
{
    struct payload_field field;
    struct payload_cursor inner;
    while (payload_next(cursor, &field)) {
        if (field.pointer)
            continue;
        assert_true(field.at <= cursor->size);
        assert_true(field.unit == 0 || field.count <= (cursor->size - field.at) / field.unit ||
                    (field.form == PAYLOAD_ONE && field.nested && field.unit == 0));
        for (uint64_t i = 0; field.nested && i < field.count && i < 4; i++)
            if (field.nested->kind != PAYLOAD_ENUM && payload_enter(&inner, cursor, &field, i))
                walk_all(&inner);
    }
}

UNIT_TEST_WITH(test_nonsense_stays_within_the_payload, forget, NULL)
{
    enum { ROUNDS = 20000, ENTRIES = 6 };
    static struct payload_entry entries[SCHEMAS_MAX][ENTRIES];
    uint64_t seed = 0x2545f4914f6cdd1d;
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t *bytes = malloc(48); /* so that a sanitizer sees what goes beyond */
        size_t size = random_number(&seed) % 49;
        for (size_t i = 0; i < 48; i++)
            bytes[i] = (uint8_t)(random_number(&seed) >> (i % 3 ? 60 : 20));
        schema_count = 0;
        for (unsigned i = 0; i < SCHEMAS_MAX; i++) {
            uint64_t bits = random_number(&seed);
            for (unsigned k = 0; k < ENTRIES; k++)
                entries[i][k] = random_entry(&seed);
            add((enum payload_schema_kind)(bits % 4 + 1), entries[i], ENTRIES, bits >> 8 & 63, bits >> 20 & 3);
        }
        struct payload_reader reader = reader_of();
        struct payload_cursor cursor;
        uint8_t *exact = realloc(bytes, size ? size : 1);
        payload_begin(&cursor, &reader, &schemas[SCHEMAS_MAX - 1], exact, size, 0);
        walk_all(&cursor);
        free(exact);
    }
}

UNIT_MAIN(NULL, NULL)
