"""The scripts that ``rye completion SHELL`` prints. Each runs ``rye`` and passes its answer to the shell as plain text."""

from __future__ import annotations

BASH = r"""# rye: completion for bash
_rye_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" last kind value reply begun=""
    last="${line##*[[:space:]]}"
    # bash splits words at ":", "=" and "@", and replaces only what follows the last of them.
    local mark
    for mark in : = @; do
        if [[ $COMP_WORDBREAKS == *"$mark"* && $last == *"$mark"* ]]; then
            reply="${last%"${last##*"$mark"}"}"
            (( ${#reply} > ${#begun} )) && begun="$reply"
        fi
    done
    [[ $begun == -*= ]] && begun=""
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case "$kind" in
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
            plain)
                if [[ $value == *[^A-Za-z0-9_./:@=+-]* ]]; then printf -v value '%q' "$value"; fi
                COMPREPLY+=("${value#"$begun"}")
                case "$value" in */) compopt -o nospace ;; esac
                ;;
        esac
    done < <(COMP_WORDS="$line" COMP_CWORD= _RYE_COMPLETE=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F _rye_completion rye 2>/dev/null || complete -F _rye_completion rye
"""

ZSH = r"""#compdef rye
# rye: completion for zsh
_rye_completion() {
    local kind value help shown
    local -a values described
    while IFS= read -r kind && IFS= read -r value && IFS= read -r help; do
        case "$kind" in
            file) _files ;;
            dir) _files -/ ;;
            plain)
                values+=("$value")
                if [[ $help == _ ]]; then described+=("$value"); else described+=("$value  -- $help"); fi
                ;;
        esac
    done < <(COMP_WORDS="${LBUFFER}" COMP_CWORD= _RYE_COMPLETE=zsh_complete ${words[1]} 2>/dev/null)
    compset -P '--[a-z-]##='
    (( ${#values} )) && compadd -l -d described -a -- values
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _rye_completion "$@"
else
    compdef _rye_completion rye
fi
"""

FISH = r"""# rye: completion for fish
function _rye_completion
    set -l line (commandline -cp)
    for candidate in (COMP_WORDS="$line" COMP_CWORD= _RYE_COMPLETE=fish_complete rye 2>/dev/null)
        set -l parts (string split --max 1 "," -- $candidate)
        switch $parts[1]
            case file
                __fish_complete_path (commandline -ct)
            case dir
                __fish_complete_directories (commandline -ct)
            case plain
                set -l token (commandline -ct)
                if string match -qr -- '^--[a-z-]+=' "$token"
                    echo (string replace -r -- '=.*' '=' "$token")$parts[2]
                else
                    echo $parts[2]
                end
        end
    end
end
complete --no-files --command rye --arguments "(_rye_completion)"
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
