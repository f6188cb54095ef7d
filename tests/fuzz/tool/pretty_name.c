/*
 * Names of kernels: any text becomes valid UTF-8, which stays as it is when it comes again. The first byte is the
 * omissions to reveal.
 */
#include "tests/fuzz/fuzz.h"

#include "analysis/names/pretty_name.h"
#include "common/buffer.h"
#include "common/text.h"

static void make(struct buffer *out, const char *name, size_t length, uint64_t reveal,
                 struct pretty_omissions *omissions)
{
    buffer_init_memory(out);
    pretty_name_write(out, name, length, reveal, omissions);
    FUZZ_HOLDS(out->failure == 0);
    for (size_t at = 0, size; at < out->length; at += size) {
        size = utf8_size(out->data + at, out->length - at);
        FUZZ_HOLDS(size > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    uint64_t reveal = fuzz_number(&bytes, 1);
    size_t length = bytes.left;
    char *name = (char *)fuzz_copy(&bytes, &length);
    struct pretty_omissions omissions;
    struct buffer once, twice;
    make(&once, name, length, 0, &omissions);
    FUZZ_HOLDS(omissions.count <= PRETTY_OMISSIONS);
    for (size_t i = 0; i < omissions.count; i++)
        FUZZ_HOLDS(omissions.items[i].at + omissions.items[i].length <= length);
    make(&twice, once.length ? once.data : "", once.length, 0, NULL);
    FUZZ_HOLDS(once.length == twice.length && (once.length == 0 || memcmp(once.data, twice.data, once.length) == 0));
    buffer_release(&twice);
    buffer_release(&once);
    make(&once, name, length, reveal, NULL);
    buffer_release(&once);
    make(&once, name, length, PRETTY_PLAIN, NULL);
    buffer_release(&once);
    free(name);
    return 0;
}
