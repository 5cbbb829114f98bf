# Completion of stead for fish: stead computes the candidates.
function __stead_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l at (math (count $words) - 1)
    for line in ($words[1] __complete $at $words 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c stead -f -a '(__stead_complete)'
