using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Layering;

/// <summary>
/// Which folders of a project know which, read from its sources: by using directives, by names that begin at the root, and by the types of
/// an outer folder, which an inner one sees without either. A folder counts by its namespace.
/// </summary>
internal sealed partial class FolderGraph
{
    /// <summary>What a folder's own files are called beside its subfolders.</summary>
    private const string Own = ".";

    private readonly HashSet<(string From, string To)> _references = [];
    private readonly string[] _namespaces;

    private FolderGraph(IReadOnlyCollection<Source> files, HashSet<string> everywhere)
    {
        _namespaces = [.. files.Select(file => file.Namespace).Where(name => name.Length > 0).Distinct()];
        var types = files.ToLookup(file => file.Namespace, file => file.Types);
        foreach (var file in files.Where(file => file.Namespace.Length > 0))
        {
            foreach (var name in file.Names)
            {
                var known = SelfAndOuter(name).FirstOrDefault(everywhere.Contains);
                if (known is not null && known != file.Namespace && _namespaces.Contains(known))
                {
                    _references.Add((file.Namespace, known));
                }
            }

            foreach (var outer in SelfAndOuter(file.Namespace).Skip(1).Where(_namespaces.Contains))
            {
                if (types[outer].Any(names => names.Any(file.Words.Contains)))
                {
                    _references.Add((file.Namespace, outer));
                }
            }
        }
    }

    /// <summary>Those of all projects under src, by name.</summary>
    public static IReadOnlyDictionary<string, FolderGraph> OfProjects { get; } = Read();

    /// <summary>That of a project with these texts only.</summary>
    public static FolderGraph Of(params IEnumerable<string> sources)
    {
        List<Source> files = [.. sources.Select(text => new Source(text))];
        return new FolderGraph(files, [.. files.Select(file => file.Namespace)]);
    }

    /// <summary>
    /// The circles among the subfolders of each folder, with all that is below them, and its own files: <c>Outer: A B</c> for those of
    /// which each knows the others, if only by way of a third.
    /// </summary>
    public IEnumerable<string> Circles() =>
        _namespaces.SelectMany(SelfAndOuter).Distinct().Order(StringComparer.Ordinal).SelectMany(CirclesIn);

    private static Dictionary<string, FolderGraph> Read()
    {
        var files = ProjectFile.All.Where(project => project.Folder == "src").ToDictionary(project => project.Name, SourcesOf);

        // A name below that of a project may be another project.
        var everywhere = files.Values.SelectMany(ofOne => ofOne).Select(file => file.Namespace).Where(name => name.Length > 0).ToHashSet();
        return files.ToDictionary(one => one.Key, one => new FolderGraph(one.Value, everywhere));
    }

    private static List<Source> SourcesOf(ProjectFile project)
    {
        var files = RepositoryFiles.All(".cs", project.Path[..project.Path.LastIndexOf('/')]);
        return [.. files.Select(path => new Source(File.ReadAllText(RepositoryFiles.FullPath(path))))];
    }

    private IEnumerable<string> CirclesIn(string outer)
    {
        var edges = _references.Select(edge => (From: PartOf(outer, edge.From), To: PartOf(outer, edge.To)))
            .Where(edge => edge is { From: not null, To: not null } && edge.From != edge.To)
            .ToLookup(edge => edge.From!, edge => edge.To!);
        var reached = edges.Select(edge => edge.Key).Order(StringComparer.Ordinal).ToDictionary(part => part, part => Reached(part, edges));
        return reached.Where(one => one.Value.Contains(one.Key))
            .Select(one => string.Join(' ', reached.Keys.Where(other => one.Value.Contains(other) && reached[other].Contains(one.Key))))
            .Distinct().Select(parts => $"{outer}: {parts}");
    }

    private static HashSet<string> Reached(string part, ILookup<string, string> edges)
    {
        var reached = new HashSet<string>();
        var left = new Queue<string>(edges[part]);
        while (left.TryDequeue(out var next))
        {
            if (reached.Add(next))
            {
                foreach (var further in edges[next])
                {
                    left.Enqueue(further);
                }
            }
        }

        return reached;
    }

    /// <summary>The subfolder of a folder that a namespace is, or is below of; null where it is elsewhere.</summary>
    private static string? PartOf(string outer, string name) =>
        name == outer ? Own : name.StartsWith(outer + ".", StringComparison.Ordinal) ? name[(outer.Length + 1)..].Split('.')[0] : null;

    private static IEnumerable<string> SelfAndOuter(string name)
    {
        yield return name;
        for (var dot = name.LastIndexOf('.'); dot > 0; dot = name.LastIndexOf('.', dot - 1))
        {
            yield return name[..dot];
        }
    }

    private sealed partial class Source
    {
        public Source(string text)
        {
            var code = TextAndComments().Replace(text, " ");
            Namespace = NamespaceLine().Match(code).Groups[1].Value;
            Types = [.. TypeLine().Matches(code).Select(match => match.Groups[1].Value)];
            Names = [.. UsingLine().Matches(code).Concat(FullName().Matches(code)).Select(match => match.Groups[1].Value).Distinct()];
            Words = [.. Word().Matches(code).Select(match => match.Value)];
        }

        /// <summary>Its namespace; empty where it has none, as the file of a program's first statements.</summary>
        public string Namespace { get; }

        /// <summary>The types that it declares, those inside of others left out.</summary>
        public string[] Types { get; }

        /// <summary>What may be namespaces, or types in them.</summary>
        public string[] Names { get; }

        public HashSet<string> Words { get; }

        [GeneratedRegex(@"//.*|/\*[\s\S]*?\*/|""(?:[^""\\\n]|\\.)*""")]
        private static partial Regex TextAndComments();

        [GeneratedRegex(@"^namespace ([\w.]+)", RegexOptions.Multiline)]
        private static partial Regex NamespaceLine();

        [GeneratedRegex(@"^(?:[a-z]+ )*(?:class|struct|record|interface|enum) (\w+)", RegexOptions.Multiline)]
        private static partial Regex TypeLine();

        [GeneratedRegex(@"^\s*(?:global )?using (?:static )?(?:\w+ = )?([\w.]+);", RegexOptions.Multiline)]
        private static partial Regex UsingLine();

        [GeneratedRegex(@"\b(Tunnel2(?:\.\w+)+)")]
        private static partial Regex FullName();

        [GeneratedRegex(@"\w+")]
        private static partial Regex Word();
    }
}
