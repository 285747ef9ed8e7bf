using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Sources;

/// <summary>
/// The order of using directives: System first, then by name, as <c>dotnet format</c> writes them. No analyzer of the build looks at it.
/// </summary>
public sealed partial class UsingOrderTests
{
    [Fact]
    public void Using_directives_are_in_order() =>
        Assert.Equal([], RepositoryFiles.All(".cs").Where(path => !IsInOrder(File.ReadLines(RepositoryFiles.FullPath(path)))));

    [Theory]
    [InlineData(
        true, "using System;", "using System.Text;", "using Alpha;", "using Beta.A;", "using Beta.B;", "using static System.Math;",
        "using A = B;")]
    [InlineData(false, "using Alpha;", "using System;")]
    [InlineData(false, "using Beta.B;", "using Beta.A;")]
    [InlineData(false, "using A = B;", "using System;")]
    [InlineData(false, "using static System.Math;", "using Alpha;")]
    [InlineData(true, "using Beta.B;", "public class A", "using Beta.A;")]
    public void The_order_is_that_of_the_formatter(bool expected, params string[] lines) => Assert.Equal(expected, IsInOrder(lines));

    private static bool IsInOrder(IEnumerable<string> lines)
    {
        var keys = lines.TakeWhile(static line => !Code().IsMatch(line)).Select(static line => Directive().Match(line))
            .Where(static match => match.Success).Select(Key).ToList();
        return keys.SequenceEqual(keys.Order(StringComparer.Ordinal));
    }

    /// <summary>Sorts as the directive: global ones, plain, static, aliases; of each kind System first.</summary>
    private static string Key(Match match)
    {
        var alias = match.Groups["alias"].Value;
        var name = alias.Length > 0 ? alias : match.Groups["name"].Value;
        var kind = alias.Length > 0 ? 2 : match.Groups["static"].Success ? 1 : 0;
        var isSystem = name == "System" || name.StartsWith("System.", StringComparison.Ordinal);
        return $"{(match.Groups["global"].Success ? 0 : 1)}{kind}{(isSystem ? 0 : 1)} {name.ToUpperInvariant()}";
    }

    [GeneratedRegex(@"^(?<global>global )?using (?<static>static )?((?<alias>\w+) = )?(?<name>[\w.:]+)")]
    private static partial Regex Directive();

    [GeneratedRegex(@"^(namespace|public|internal|file|\[)")]
    private static partial Regex Code();
}
