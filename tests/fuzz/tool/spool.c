/*
 * A spool file, byte for byte as the input is, converted.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/convert_all.h"
#include "tests/fuzz/tool/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file("7-0.spool", data, size);
    fuzz_convert_all();
    return 0;
}
