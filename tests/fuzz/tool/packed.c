/*
 * A packed file, byte for byte as the input is, beside a spool that was drained, converted.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/convert_all.h"
#include "tests/fuzz/tool/files.h"
#include "tests/trace/meaning/make_spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct make_spool spool;
    make_spool_init(&spool, 7, 130001);
    make_spool_header(&spool)->drained = 3;
    make_spool_chunk(&spool, SPOOL_CUPTI, 7);
    make_spool_chunk_header(&spool)->sequence = 2;
    make_api(&spool, (struct make_api){.cbid = 211, .thread = 7, .start = 100, .end = 200, .correlation = 1});
    make_spool_done(&spool, SPOOL_DRAINED);
    fuzz_file("7-0.spool", spool.data, spool.size);
    make_spool_release(&spool);
    fuzz_file("7-0.packed", data, size);
    fuzz_convert_all();
    return 0;
}
