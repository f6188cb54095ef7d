#include "trace/build/payload_enum.h"

#include <stdio.h>

#include "common/json_out.h"

#define ENUM_TEXT_MAX 512u /* of the names of all bits */

static const struct payload_text *name_of_value(const struct payload_described *schema, uint64_t value)
{
    for (uint32_t i = 0; i < schema->layout.count; i++)
        if (schema->entries[i].detail == value && schema->words[i].name.text)
            return &schema->words[i].name;
    return NULL;
}

/* "READ | WRITE | 0x40": names of bits, and what has no name. */
static void put_bits(struct json_out *json, const struct payload_described *schema, uint64_t value)
{
    char text[ENUM_TEXT_MAX];
    size_t length = 0;
    uint64_t rest = value;
    for (uint32_t i = 0; i < schema->layout.count; i++) {
        const struct payload_text *name = &schema->words[i].name;
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

void payload_put_enum(struct json_out *json, const struct payload_described *schema, const uint8_t *bytes,
                      uint64_t size)
{
    uint64_t value = payload_load(bytes, size);
    unsigned unused = size > 0 && size < 8 ? 64 - 8 * (unsigned)size : 0;
    /* What the program gave as a value of its type may have been widened with its sign. */
    uint64_t widened = (uint64_t)((int64_t)(value << unused) >> unused);
    const struct payload_text *name = name_of_value(schema, value);
    name = name ? name : name_of_value(schema, widened);
    if (name)
        json_string_n(json, name->text, name->length);
    else
        put_bits(json, schema, value);
}
