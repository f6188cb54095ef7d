# Completion of gputrace for fish: `gputrace complete` knows the words (src/cli/complete.h says what it prints).

function __gputrace_complete
    set -l typed (commandline -ct | string collect --allow-empty)
    set -l words (commandline -opc) $typed
    set -l option (string match -r -- '^--[^=]*=' $typed)
    for line in ($words[1] complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files :folders
                string replace -r -- '^' "$option" (__fish_complete_path (string replace -- "$option" '' $typed))
            case :commands
                __fish_complete_command
            case ':program*'
                complete -C (string escape -- $words[(math -- -(string sub -s 10 -- $line))..-1] | string join ' ')
            case '*'
                echo $line
        end
    end
end
complete -c gputrace -f -a '(__gputrace_complete)'
