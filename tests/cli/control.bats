#!/usr/bin/env bats
# gputrace-control(3), the manual of gputrace.h. What the header does in programs is tested with the samples.

load common

page=$root/man/gputrace-control.3
header=$root/include/gputrace/gputrace.h

@test "the manual page names the functions of the header, and each of them exists" {
    grep '^ \* gputrace_' "$header" | grep -oE 'gputrace_[a-z_]+\(' | tr -d '(' | sort >in-header
    sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.F[no] \(gputrace_[a-z_]*\).*/\1/p' "$page" | sort >in-page
    [ "$(wc -l <in-header)" -ge 6 ]
    diff in-header in-page
    while read -r function; do
        grep -qE "^static inline .*\b$function\(" "$header"
    done <in-header
}

@test "the manual's ranges compile, as C and as C++" {
    {
        printf '#include <gputrace/gputrace.h>\nvoid forward(void *), backward(void *);\nvoid run(void *stream)\n{\n'
        awk '/^\.Bd/ { n++; next } /^\.Ed/ { on = 0 } n == 2 && !/^\.Ed/ { on = 1 } on' "$page" | sed '/^\./d'
        printf '}\n'
    } >ranges.c
    grep -q gputrace_device_range_end ranges.c
    cc -std=c99 -pedantic -Wall -Wextra -Werror -c -I"$root/include" -o ranges.o ranges.c
    c++ -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -c -I"$root/include" -o ranges.o ranges.c
}

@test "a default stream is that of the program's compilation" {
    printf '%s\n' '#include <gputrace/gputrace.h>' \
        'int main(void) { return gputrace_stream(0) == (void *)WANTED && gputrace_stream((void *)9) == (void *)9 ? 0 : 1; }' \
        >stream.c
    cc -DWANTED=0 -I"$root/include" -o stream stream.c
    ./stream
    cc -DWANTED=2 -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 -I"$root/include" -o stream stream.c
    ./stream
}
