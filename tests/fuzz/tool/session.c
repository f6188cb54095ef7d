/*
 * The launcher's note about a run, beside an empty spool: the input is session.json.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/convert_all.h"
#include "tests/fuzz/tool/files.h"
#include "tests/trace/meaning/make_spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made) {
        struct make_spool spool;
        make_spool_init(&spool, 7, 130001);
        make_spool_save(&spool, fuzz_directory());
        make_spool_release(&spool);
        made = true;
    }
    fuzz_file(SPOOL_SESSION_FILE, data, size);
    fuzz_convert_all();
    return 0;
}
