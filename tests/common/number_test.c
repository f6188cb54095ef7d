#include "tests/unit.h"

#include <inttypes.h>
#include <math.h>

#include "common/text.h"

#define expect(call, text)                         \
    do {                                           \
        char space[NUMBER_SPACE + 1], *at = space; \
        at = call;                                 \
        *at = '\0';                                \
        assert_string_equal(space, text);          \
    } while (0)

UNIT_TEST(integers_are_written_as_printf_would)
{
    static const uint64_t values[] = {0, 9, 10, 99, 100, 101, 999, 1000, 12345678901, UINT64_MAX};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char decimal[32], hexadecimal[32];
        snprintf(decimal, sizeof(decimal), "%" PRIu64, values[i]);
        snprintf(hexadecimal, sizeof(hexadecimal), "0x%" PRIx64, values[i]);
        expect(number_u64(at, values[i]), decimal);
        expect(number_hex(at, values[i]), hexadecimal);
    }
    expect(number_i64(at, -1), "-1");
    expect(number_i64(at, INT64_MIN), "-9223372036854775808");
}

UNIT_TEST(nanoseconds_become_microseconds)
{
    expect(number_us(at, 0), "0.000");
    expect(number_us(at, 1), "0.001");
    expect(number_us(at, 999), "0.999");
    expect(number_us(at, 1010), "1.010");
    expect(number_us(at, UINT64_MAX), "18446744073709551.615");
}

UNIT_TEST(fractions_are_rounded_and_bounded)
{
    expect(number_fixed6(at, 0.1), "0.100000");
    expect(number_fixed6(at, 2.0000004), "2.000000");
    expect(number_fixed6(at, 2.0000006), "2.000001");
    expect(number_fixed6(at, -1), "0.000000");
    expect(number_fixed6(at, (double)NAN), "0.000000");
    expect(number_fixed6(at, 1e300), "1000000000000.000000");
}

UNIT_MAIN(NULL, NULL)
