# SPDX-License-Identifier: MIT
# fish completion for t3. Bash's completion does the work, beside this file or where
# `make install` puts it. Install this as /usr/share/fish/vendor_completions.d/t3.fish.

set -g __t3_bash_completion (status dirname)/t3.bash-completion
test -e $__t3_bash_completion
or set -g __t3_bash_completion (status dirname)/../../bash-completion/completions/t3

function __t3_complete
    bash -c 'source "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _t3 &&
        printf "%s\n" "${COMPREPLY[@]}"' $__t3_bash_completion (commandline -opc) (commandline -ct) 2>/dev/null
end

complete -c t3 -f -a '(__t3_complete)'
