namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>docs/protocol.md, found by walking up from the test assembly, and the examples in it.</summary>
internal static class ProtocolDocument
{
    private static readonly Lazy<IReadOnlyList<Example>> _examples = new(() => Parse(File.ReadAllLines(FindFile())));

    public static IReadOnlyList<Example> Examples => _examples.Value;

    public static Example Get(string kind, string name) => Examples.Single(example => example.Kind == kind && example.Name == name);

    public static TheoryData<string> Names(string kind) =>
        [.. Examples.Where(example => example.Kind == kind).Select(example => example.Name)];

    private static string FindFile()
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            var file = Path.Combine(folder.FullName, "docs", "protocol.md");
            if (File.Exists(file))
            {
                return file;
            }
        }

        throw new FileNotFoundException("docs/protocol.md is in no folder above the test assembly.");
    }

    private static List<Example> Parse(string[] lines)
    {
        var examples = new List<Example>();
        for (var i = 0; i < lines.Length; i++)
        {
            var kind = lines[i] switch { "```golden" => "golden", "```malformed" => "malformed", "```exchange" => "exchange", _ => null };
            if (kind is null)
            {
                continue;
            }

            var pairs = new List<KeyValuePair<string, string>>();
            for (i++; lines[i] != "```"; i++)
            {
                var colon = lines[i].IndexOf(':', StringComparison.Ordinal);
                Assert.True(colon > 0, $"Line {i + 1} of docs/protocol.md is not \"key: value\": {lines[i]}");
                pairs.Add(new(lines[i][..colon], lines[i][(colon + 1)..].Trim()));
            }

            examples.Add(new Example(kind, pairs));
        }

        return examples;
    }
}
