/*
 * nvtx_schemas: all that a schema of NVTX's payload extension can describe. Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: marks with payloads in which numbers of every type, texts of every sort, enumerations by the
 * names of their values and bits, arrays whose lengths stand elsewhere, several dimensions, unions by what was
 * selected, and what pointers lead to are as the program gave them.
 */
#include "nvtx_payload.h"
#include <wchar.h>

/* --- every type --- */

/*   NVTX's type   type in C   name     value  as it is in the trace */
#define NUMBERS(X)                                                             \
    X(CHAR, char, letter, 'x', "\"x\"")                                        \
    X(UCHAR, unsigned char, byte, 200, "200")                                  \
    X(SHORT, short, short_, -2, "-2")                                          \
    X(USHORT, unsigned short, unsigned_short, 60000, "60000")                  \
    X(INT, int, int_, -4, "-4")                                                \
    X(UINT, unsigned int, unsigned_, 5, "5")                                   \
    X(LONG, long, long_, -6, "-6")                                             \
    X(ULONG, unsigned long, unsigned_long, 7, "7")                             \
    X(LONGLONG, long long, long_long, -8, "-8")                                \
    X(ULONGLONG, unsigned long long, most, UINT64_MAX, "18446744073709551615") \
    X(INT8, int8_t, int8, -10, "-10")                                          \
    X(UINT8, uint8_t, uint8, 11, "11")                                         \
    X(INT16, int16_t, int16, -1000, "-1000")                                   \
    X(UINT16, uint16_t, uint16, 40000, "40000")                                \
    X(INT32, int32_t, int32, -100000, "-100000")                               \
    X(UINT32, uint32_t, uint32, 4000000000, "4000000000")                      \
    X(INT64, int64_t, int64, -9007199254740993, "-9007199254740993")           \
    X(UINT64, uint64_t, uint64, 9007199254740993, "9007199254740993")          \
    X(FLOAT, float, float_, 2.5f, "2.5")                                       \
    X(DOUBLE, double, double_, 1e-300, "1e-300")                               \
    X(LONGDOUBLE, long double, long_double, 0.75L, "0.75")                     \
    X(SIZE, size_t, size, 123456, "123456")                                    \
    X(ADDRESS, const void *, address, (const void *)0x7f00, "\"0x7f00\"")      \
    X(WCHAR, wchar_t, wide, L'\u00df', "\"ß\"")                                \
    X(CHAR16, uint16_t, char16, 0x3a9, "\"Ω\"")                                \
    X(CHAR32, uint32_t, char32, 0x1f600, "\"😀\"")                             \
    X(BYTE, uint8_t, raw, 0xad, "\"ad\"")                                      \
    X(FLOAT16, uint16_t, half, 0x3e00, "1.5")                                  \
    X(FLOAT32, float, float32, -0.5f, "-0.5")                                  \
    X(FLOAT64, double, float64, 0.1, "0.1")                                    \
    X(BF16, uint16_t, brain, 0xc0a0, "-5")                                     \
    X(TF32, float, tensor, 3, "3")                                             \
    X(PID_UINT32, uint32_t, pid, 17, "17")                                     \
    X(TID_UINT64, uint64_t, tid, 18, "18")

static void numbers(void)
{
    static const struct all {
#define MEMBER(nvtx, type, name, value, words) type name;
        NUMBERS(MEMBER)
    } all = {
#define VALUE(nvtx, type, name, value, words) (value),
        NUMBERS(VALUE)};
    static const nvtxPayloadSchemaEntry_t entries[] = {
#define ENTRY(nvtx, type, name, value, words) \
    {0, NVTX_PAYLOAD_ENTRY_TYPE_##nvtx, #name, NULL, 0, offsetof(struct all, name)},
        NUMBERS(ENTRY)};
    mark_with("numbers", REGISTER("numbers", STATIC, 0, entries, sizeof(all)), &all, sizeof(all));
#define HOLDS(nvtx, type, name, value, words) holds("mark", "numbers", "." #name "\" " words);
    NUMBERS(HOLDS)
}

static void texts(void)
{
    const struct {
        const char *pointer;
        nvtxStringHandle_t registered;
        char fixed[6];
        uint16_t wide[4];
        const char *none;
    } all = {
        "pointed at", nvtxDomainRegisterStringA(domain, "registered"), "fixed!", {0x47, 0xfc, 0xd83d, 0xde00}, NULL};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         "pointer"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "registered"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, "fixed", NULL, 6, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, "wide", NULL, 4, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "none"},
    };
    mark_with("texts", REGISTER("texts", STATIC, NVTX_PAYLOAD_SCHEMA_FLAG_DEEP_COPY, entries, sizeof(all)), &all,
              sizeof(all));
    holds("mark", "texts", ".pointer\" \"pointed at\"");
    holds("mark", "texts", ".registered\" \"registered\"");
    holds("mark", "texts", ".fixed\" \"fixed!\"");
    holds("mark", "texts", ".wide\" \"Gü😀\"");
    holds("mark", "texts", ".none\" null");
    nvtxEventAttributes_t event = event_of("plain text");
    nvtxPayloadMark(domain, &event, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "as it is", SIZE_MAX);
    state("nvtx mark \"plain text\" domain \"payloads\" payload \"as it is\"");
    state_count("marks", 1);
}

enum color { RED, GREEN };
enum access { READ = 1, WRITE = 2 };

static void enumerations(void)
{
    static const nvtxPayloadEnum_t colors[] = {{"red", RED, 0}, {"green", GREEN, 0}};
    static const nvtxPayloadEnum_t bits[] = {{"read", READ, 1}, {"write", WRITE, 1}};
    nvtxPayloadEnumAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
        .name = "color",
        .entries = colors,
        .numEntries = 2,
        .sizeOfEnum = sizeof(enum color),
    };
    const uint64_t color_type = nvtxPayloadEnumRegister(domain, &attributes);
    attributes.name = "access";
    attributes.entries = bits;
    attributes.sizeOfEnum = sizeof(enum access);
    const uint64_t access_type = nvtxPayloadEnumRegister(domain, &attributes);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, color_type, "color"}, {0, access_type, "access"}, {0, access_type, "odd"}};
    const uint32_t values[] = {GREEN, READ | WRITE, WRITE | 8};
    mark_with("enumerations", REGISTER("enumerations", STATIC, 0, entries, sizeof(values)), values, sizeof(values));
    holds("mark", "enumerations", ".color\" \"green\"");
    holds("mark", "enumerations", ".access\" \"read | write\"");
    holds("mark", "enumerations", ".odd\" \"write | 0x8\"");
}

/* --- arrays and unions --- */

static void arrays(void)
{
    /* uint32_t count; float values[count]; char text[] up to its zero; uint16_t sizes[2]; int8_t table[sizes] */
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "count"},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "values"},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text"},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "sizes", NULL, 2, 0},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_INT8, "table", NULL, 3, 0},
    };
    static const struct __attribute__((packed)) {
        uint32_t count;
        float values[3];
        char text[6];
        uint16_t sizes[2];
        int8_t table[6];
    } all = {3, {1, 2.5f, -3}, "hello", {2, 3}, {1, 2, 3, 4, 5, 6}};
    mark_with("arrays", REGISTER("arrays", DYNAMIC, 0, entries, 0), &all, sizeof(all));
    holds("mark", "arrays", ".values[1]\" 2.5");
    holds("mark", "arrays", ".text\" \"hello\"");
    holds("mark", "arrays", ".table[1][2]\" 6");
}

/* The length in another payload, and a pointer into one that is not shown itself. */
static void several_payloads(void)
{
    static const nvtxPayloadSchemaEntry_t length_elsewhere[] = {{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX,
                                                                 NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "data", NULL, 0, 0,
                                                                 NULL, NULL}};
    static const nvtxPayloadSchemaEntry_t pointing[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "length"},
        {NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_INT32,
         "elsewhere"}};
    static const double data[] = {0.5, 1.5, 99};
    static const int32_t there[] = {10, 20, 30};
    const size_t count = 2;
    const struct {
        int32_t length;
        const int32_t *elsewhere;
    } pointer = {3, there};
    nvtxPayloadData_t payloads[] = {
        {NVTX_PAYLOAD_ENTRY_TYPE_SIZE, sizeof(count), &count},
        {REGISTER("length elsewhere", DYNAMIC, 0, length_elsewhere, 0), sizeof(data), data},
        {REGISTER("pointing", STATIC, 0, pointing, sizeof(pointer)), sizeof(pointer), &pointer},
        {NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof(there), there},
        {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, 4, "\1\2\3\377"}};
    nvtxEventAttributes_t event = event_of("several");
    NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(event, payloads)
    nvtxDomainMarkEx(domain, &event);
    did("mark", "several");
    holds("mark", "several", "[0]\" 2");
    holds("mark", "several", "[1].data[1]\" 1.5");
    holds("mark", "several", "[2].elsewhere[2]\" 30");
    holds("mark", "several", "[3]\" \"010203ff\"");
}

static void unions(void)
{
    static const nvtxPayloadSchemaEntry_t members[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "integer"},
                                                       {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "real"}};
    static const nvtxPayloadSchemaEntry_t selecting[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR, "which"},
                                                         {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "small", NULL, 0, 4},
                                                         {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "float", NULL, 0, 4}};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "member"},
        {0, REGISTER("number", UNION, 0, members, 8), "number"},
        {0, REGISTER("own", UNION_WITH_INTERNAL_SELECTOR, 0, selecting, 8), "own"}};
    const struct {
        int32_t member;
        union {
            int64_t integer;
            double real;
        } number;
        struct {
            int32_t which;
            union {
                int32_t small;
                float real;
            } value;
        } own;
    } all = {1, {.real = 0.75}, {2, {.real = 1.25f}}};
    mark_with("unions", REGISTER("unions", STATIC, 0, entries, sizeof(all)), &all, sizeof(all));
    holds("mark", "unions", ".number.real\" 0.75");
    holds("mark", "unions", ".own.float\" 1.25");
}

int main(void)
{
    domain = nvtxDomainCreateA("payloads");
    numbers();
    texts();
    enumerations();
    arrays();
    several_payloads();
    unions();
    puts("schemas of every sort");
    state_print();
    return 0;
}
