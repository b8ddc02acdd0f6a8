"""Abbreviations and words that people use for one another in search. Pure data.

General words of the trade only: nothing here names an item. Each line is a group; a word stands for every other one of its
group, at a discount (:data:`rye.text.ranking.scoring.SAME`). Two words with a hyphen stand for both of them.
"""

from __future__ import annotations

from functools import cache

from rye.text.ranking.stemming import stem

_ABBREVIATIONS = """
a11y accessibility
ai artificial-intelligence llm
api apis
auth authentication authorization
aws amazon-web
az azure
bat batch
ci continuous-integration
cli command-line
cmd command
cpp cplusplus
cicd continuous-integration
config configuration settings
csharp dotnet
db database
dev developer development
devcontainer dev-container
dir directory folder
docx word
docs documentation
e2e end-to-end
env environment
gcp google-cloud
gh github
gha github-actions
go golang
gui ui user-interface
i18n internationalization localization
iac infrastructure-code
img image
infra infrastructure
js javascript
k8s kubernetes
l10n localization
llm language-model
lint linter
max maximum
md markdown
min minimum
ml machine-learning
mr merge-request
msg message
net dotnet
nextjs next
node nodejs
os operating-system
perf performance
pg postgres postgresql
postgres postgresql
pkg package
ppt pptx powerpoint
pr prs pull-request pullrequest
py python
qa quality-assurance
rb ruby
react reactjs
regex regular-expression
repo repository
rl reinforcement-learning
rs rust
sec security
spec specification
tdd test-driven
tf terraform
ts typescript
ui user-interface
ux user-experience
vm virtual-machine
vscode vs-code
vuln vulnerability
win windows
xls xlsx excel
yml yaml
"""

_SAME = """
accessibility accessible
animate animation motion
approve approval permission
answer reply respond
ask request
audit review inspect
automate automation
bibliography citation reference
bill cost price spending
bug issue defect error
build create make generate write
branch branches
browse browser
buy purchase
change edit modify
chart plot graph diagram figure
check verify validate
cheap cost
claim fact
clean cleanup tidy
calendar schedule meeting appointment
code program
coder programmer developer
concise short shorter compress
codebase repository
combine merge join
commit commits
company brand corporate organization
compare diff difference
container docker
convert transform turn export
debug diagnose troubleshoot
crash exception
danger dangerous risk unsafe
delete remove erase wipe clear
dependency package
deploy publish host release
design style
draw diagram
email mail
explain describe understand
explore brainstorm
fail failure broken
fund sponsor
fast performance speed quick
faster performance speed
find detect search discover
fix repair resolve
forecast predict
image picture photo
improve optimize tune
install setup
function method
grammar spelling typo
hundreds batch bulk
job career
junior beginner novice
latency speed
launch start
leak expose
library package
log logs
memory ram
migrate move upgrade port
money cost
mistake error
money finance financial
newcomer onboarding
outage incident
paper article literature publication
parse read
parallel concurrent
password secret credential
patient clinical medical
phone mobile
plan planning
postmortem incident
presentation slides pptx powerpoint deck
project scaffold
refactor restructure simplify
secret credential
security vulnerability secure
shrink reduce
slow performance optimize latency
slow speed
spreadsheet xlsx excel
summarize summary
scan image
shop store
table tabular
teach mentor train
team teammate
test testing tests
ticket issue
together coauthor collaborate
translate translation localization
tweet twitter
video recording
visualize visualization plot
website site web webpage
word docx
"""


@cache
def meanings() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return for each stem what else it stands for: tuples of stems, all of which must occur."""
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for line in f"{_ABBREVIATIONS}{_SAME}".split("\n"):
        group = [tuple(stem(word) for word in each.split("-")) for each in line.split()]
        for one in group:
            if len(one) == 1:
                found.setdefault(one[0], {}).update(dict.fromkeys(other for other in group if other != one))
    return {word: tuple(others) for word, others in found.items()}


@cache
def pairs() -> dict[tuple[str, ...], str]:
    """Return the abbreviations that two words of a query stand for, by the stems of the two."""
    found: dict[tuple[str, ...], str] = {}
    for line in _ABBREVIATIONS.split("\n"):
        first, *others = line.split() or [""]
        for each in others:
            if "-" in each:
                found.setdefault(tuple(stem(word) for word in each.split("-")), stem(first))
    return found
