"""What the help says: what each command is for, with examples that a test tries."""

from __future__ import annotations

from .outputs import FORMATS

ABOUT = """Reliable agglomerative clustering: merge, at every step, all pairs of clusters that are each other's nearest
neighbour.

FILE is a table with one row per object (CSV, TSV, Parquet, Arrow, NPY, NPZ, Matrix Market), a PHYLIP matrix of
distances, gzipped or not, with --edges a table of pairs, a tree that 'cluster' wrote, or - for standard input."""

EXAMPLES = """examples:
  reliac demo                                          a short tour with the Iris data
  reliac cluster data.csv                              the levels at a glance
  reliac cluster data.csv --clusters 5 --out labels.csv
  reliac outliers data.csv --top 10
  reliac compare data.csv --label-column species

'reliac COMMAND --help' tells more. Exit codes: 0 done, 2 a mistake in what was asked, 1 an unexpected error,
70 a fault of reliac, 130 stopped by Ctrl-C."""

_MEANINGS = ", ".join(f"{' '.join(form.extensions)} {form.name}" for form in FORMATS.values() if form.extensions)

CLUSTER = f"""examples:
  reliac cluster data.csv --clusters 5                       name,cluster lines on standard output
  reliac cluster data.csv --clusters 5 --out labels.tsv --plot tree.png
  reliac cluster data.csv --clusters 2,5,10                  a column for each
  reliac cluster data.csv --split-above 50                   clusters of 50 objects at most
  reliac cluster data.csv --branches lifetime                each branch by itself; objects in no cluster: -1
  reliac cluster iris.csv --label-column species             as many clusters as classes; scores on standard error
  reliac cluster data.parquet --criterion average --metric cosine --out tree.reliac
  reliac cluster data.csv --keep-data --out tree.reliac      for 'reliac predict' and 'reliac summary'
  reliac cluster tree.reliac --clusters 8                    cut a saved tree again
  reliac cluster data.csv --to tree | reliac cluster - --clusters 8
  reliac cluster big.npy --stop-clusters 100 --out labels.npy
  reliac cluster distances.csv --metric precomputed --criterion complete --to newick
  reliac cluster pairs.csv --edges --max-distance 0.4 --out labels.csv       columns a, b and distance
  reliac cluster pairs.parquet --edges left,right,score --similarity --missing ignore --clusters 20
  curl https://example.org/data.csv.gz | reliac cluster - --standardize --clusters 3 | sort -t, -k2

What is written follows from --to, or from the extension of --out:
{_MEANINGS}.
Rows without names are numbered from 0. On Ctrl-C the levels done so far are saved."""

LEVELS = """examples:
  reliac levels data.csv
  reliac levels tree.reliac --to csv
  reliac levels data.csv --criterion average --max-level 5"""

OUTLIERS = """The later, or the farther away, an object comes together with others, the more it is an outlier.

--by level           level of the object's first join / number of levels: the paper's score
--by distance        distance of its first join / largest distance
--by level-of-M      the same of the join that makes its cluster M objects or more, so that a small
--by distance-of-M   group of outliers is found too; M counts as at most a quarter of the objects

The default, distance-of-10 with the single criterion, ranks outliers best by the table of 'reliac reproduce'. Whatever
the score, level, distance and partner are those of the first join. The partner is the object that the object joins
(single: the one it is nearest to), or one of the cluster that it joins.

examples:
  reliac outliers data.csv --top 10
  reliac outliers data.csv --by level --criterion average
  reliac outliers data.csv --name-column id --by distance-of-5 --out outliers.csv"""

MST = """examples:
  reliac mst data.csv --out edges.csv
  reliac mst distances.csv --metric precomputed | head
  reliac mst roads.csv --edges from,to,length

Weights are Euclidean distances unless --metric says otherwise."""

COMPARE = """examples:
  reliac compare iris.csv --label-column species
  reliac compare data.csv --clusters 5 --alpha 0 --alpha 0.5 --alpha 1 --criterion centroid

agreement is the adjusted Rand index between a strategy's clusters and those of the standard strategy. silhouette, CH
(Calinski-Harabasz: large is good) and DB (Davies-Bouldin: small is good) need no classes; see reliac choose --help."""

CHOOSE = """Scores the cuts into many numbers of clusters at once: sums of squares within and between clusters,
Calinski-Harabasz (large is good), Davies-Bouldin (small is good), silhouettes (large is good), the distance of the next
join and the gap before it, and how many levels clusters live. Standard error tells which number most of them speak
for, the next best, and how far they disagree.

examples:
  reliac choose data.csv
  reliac choose data.csv --most 50 --plot scores.png --out scores.csv
  reliac choose data.csv --criterion average --repeats 20
  reliac choose tree.reliac                      a saved tree has gaps and levels, and no data for the others"""

PREDICT = """TREE keeps the rows that it was made from: 'cluster --keep-data' wrote it. A tree of given distances needs
none, and FILE has the distances of new rows to all its objects. Columns with titles are found by these, in any order. A
tree made with --standardize scales new rows as its own.

examples:
  reliac cluster data.csv --keep-data --out tree.reliac
  reliac predict tree.reliac new.csv --clusters 5                  name,cluster,distance lines
  reliac predict tree.reliac new.csv --level 3 --max-distance 2.5 --out placed.tsv
  reliac predict tree.reliac new.csv --clusters 3 --label-column species         scores on standard error"""

EXTEND = """Writes the tree of all rows, those of TREE first: that of 'reliac cluster' on all of them, bit for bit, with
the options that made TREE. TREE keeps its rows ('cluster --keep-data'), and so does what is written. With 'cluster
--keep-lists' a few rows more of a large table take a fraction of the time. For a tree of given distances FILE has the
distances of each new object to those of the tree, then to the new ones.

examples:
  reliac cluster data.csv --keep-data --keep-lists --out tree.reliac
  reliac extend tree.reliac new.csv --out more.reliac
  reliac extend tree.reliac new.csv | reliac cluster - --clusters 5"""

SUMMARY = """Sizes, levels and distances follow from the tree. Medoids, spreads and the features that set clusters apart
need the rows: TREE keeps them ('cluster --keep-data'), or FILE has them. With --label-column classes are counted, too.

examples:
  reliac summary tree.reliac --clusters 5
  reliac summary tree.reliac data.csv --clusters 5 --label-column species --out clusters.csv"""

INFO = """examples:
  reliac info tree.reliac
  reliac cluster data.csv --to tree | reliac info -"""

DEMO = """examples:
  reliac demo
  reliac demo --out demo-output        also writes pictures, labels, the tree and Newick text"""

REPRODUCE = """Runs the tables as published (slips included), as written and extended, and small experiments for the
other claims; writes report.html, report.md, and the tables as CSV. Data sets come from --folder, RELIAC_DATA, the
cache, or a download; those that cannot be had are named in the report and left out.

examples:
  reliac reproduce
  reliac reproduce --datasets iris hayes-roth --out two-sets
  reliac reproduce --folder ~/datasets"""

WARMUP = """Compiled code is kept in the folder that RELIAC_CACHE or NUMBA_CACHE_DIR names, or in the installed package
if that can be written, or in your folder of caches. It is compiled once for an environment: this version of reliac,
Python, Numba and kind of processor.

examples:
  reliac warmup                                  one to one and a half minutes; later, seconds
  reliac warmup --engine vectors --engine spanning
  RELIAC_CACHE=/opt/reliac reliac warmup         while a container is built; set the same where it runs"""

COMPLETION = """Prints a script that teaches the shell the commands, the options, and the names of criteria, metrics,
engines and data sets; the Tab key then completes them.

examples:
  reliac completion bash
  reliac completion fish

To have it in every new shell:
  bash    echo 'eval "$(reliac completion bash)"' >> ~/.bashrc
  zsh     echo 'eval "$(reliac completion zsh)"' >> ~/.zshrc
  fish    reliac completion fish > ~/.config/fish/completions/reliac.fish"""
