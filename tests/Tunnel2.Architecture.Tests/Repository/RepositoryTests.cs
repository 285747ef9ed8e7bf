using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Tunnel2.Architecture.Tests.Repository;

public sealed partial class RepositoryTests
{
    /// <summary>
    /// Projects that Tunnel2.sln leaves out on purpose, because they need packages that not every package source has. Each must be in
    /// Tunnel2.Full.sln.
    /// </summary>
    internal static readonly string[] NotInTheSolution =
    [
        "load-tests/Tunnel2.LoadTests.NBomber/Tunnel2.LoadTests.NBomber.csproj",
    ];

    [Fact]
    public void Every_project_is_in_the_solution_and_the_solution_names_no_other()
    {
        var expected = ProjectFile.All.Select(project => project.Path).Except(NotInTheSolution);
        Assert.Equal(expected.Order(StringComparer.Ordinal), ProjectsOf("Tunnel2.sln").Order(StringComparer.Ordinal));
    }

    [Fact]
    public void The_full_solution_has_every_project() =>
        Assert.Equal(
            ProjectFile.All.Select(project => project.Path).Order(StringComparer.Ordinal),
            ProjectsOf("Tunnel2.Full.sln").Order(StringComparer.Ordinal));

    [Fact]
    public void Projects_that_the_solution_leaves_out_exist_and_are_in_the_full_one()
    {
        foreach (var path in NotInTheSolution)
        {
            Assert.Contains(ProjectFile.All, project => project.Path == path);
            Assert.Contains(path, ProjectsOf("Tunnel2.Full.sln"));
        }
    }

    [Fact]
    public void An_advisory_about_an_old_dependency_of_NBomber_is_a_warning_and_no_error()
    {
        string[] advisories = ["NU1901", "NU1902", "NU1903", "NU1904"];
        var project = XDocument.Load(RepositoryFiles.FullPath("load-tests/Tunnel2.LoadTests.NBomber/Tunnel2.LoadTests.NBomber.csproj"));
        Assert.Equal([], advisories.Except(project.Descendants("WarningsNotAsErrors").Single().Value.Split(';')));
    }

    /// <summary>docker-compose 1, which Debian has, builds without BuildKit.</summary>
    [Theory]
    [InlineData("deploy/docker/Dockerfile")]
    [InlineData("deploy/docker/release.Dockerfile")]
    public void Images_need_no_BuildKit(string file)
    {
        var steps = File.ReadLines(RepositoryFiles.FullPath(file)).Where(static line => !line.StartsWith('#')).ToList();
        Assert.Contains(steps, static line => line.StartsWith("COPY ", StringComparison.Ordinal));
        Assert.DoesNotContain(
            steps, static line => line.Contains("--chmod", StringComparison.Ordinal) || line.Contains("--mount", StringComparison.Ordinal)
                || line.Contains("--link", StringComparison.Ordinal) || line.Contains("<<", StringComparison.Ordinal));
    }

    [Fact]
    public void Every_package_has_a_central_version_and_no_project_one_of_its_own()
    {
        var central = XDocument.Load(RepositoryFiles.FullPath("Directory.Packages.props")).Descendants("PackageVersion")
            .Select(version => (string)version.Attribute("Include")!).ToHashSet(StringComparer.OrdinalIgnoreCase);
        var shared = RepositoryFiles.All(".props").SelectMany(
            path => XDocument.Load(RepositoryFiles.FullPath(path)).Descendants("PackageReference").Select(element => (path, element)));
        var own = ProjectFile.All.SelectMany(static x => x.PackageElements.Select(element => (x.Path, element)));
        foreach (var (path, element) in own.Concat(shared))
        {
            var name = (string)element.Attribute("Include")!;
            Assert.True(central.Contains(name), $"{path}: {name} has no PackageVersion in Directory.Packages.props.");
            Assert.True(
                element.Attribute("Version") is null && element.Attribute("VersionOverride") is null,
                $"{path}: {name} has its own version.");
        }
    }

    [Fact]
    public void These_tests_see_every_project_under_src()
    {
        var seen = ProjectFile.All.Single(project => project.Name == "Tunnel2.Architecture.Tests").References;
        Assert.Equal([], ProjectFile.UnderSrc.Select(project => project.Path).Except(seen));
    }

    [Fact]
    public void Friends_of_an_assembly_exist_under_the_name_they_are_given()
    {
        var names = ProjectFile.All.Select(project => project.AssemblyName).ToHashSet();
        var strangers = ProjectFile.All.SelectMany(
            x => x.Friends.Where(friend => !names.Contains(friend)).Select(friend => $"{x.Path}: {friend}"));
        Assert.Equal([], strangers);
    }

    /// <summary>The documents that lead a reader through the repository.</summary>
    public static TheoryData<string> Documents =>
        [
            .. RepositoryFiles.All(".md").Where(
                path => !path.Contains('/', StringComparison.Ordinal) || path.StartsWith("docs/", StringComparison.Ordinal)),
        ];

    [Theory]
    [MemberData(nameof(Documents))]
    public void Paths_that_a_document_names_exist(string document)
    {
        var text = File.ReadAllText(RepositoryFiles.FullPath(document));
        var folder = Path.GetDirectoryName(document)!.Replace('\\', '/');
        var links = MarkdownLink().Matches(text).Select(match => Path.Combine(folder, match.Groups["target"].Value));
        var paths = RepositoryPath().Matches(text).Select(match => match.Value.TrimEnd('.', '/', '-'))
            .Where(path => !path.Contains("/bin/", StringComparison.Ordinal) && !path.Contains("/obj/", StringComparison.Ordinal));
        Assert.Equal([], links.Concat(paths).Where(path => !RepositoryFiles.Exists(path)).Distinct());
    }

    private static IEnumerable<string> ProjectsOf(string solution) =>
        SolutionProject()
            .Matches(File.ReadAllText(RepositoryFiles.FullPath(solution)))
            .Select(match => match.Groups["path"].Value.Replace('\\', '/'));

    [GeneratedRegex("\"(?<path>[^\"]+\\.csproj)\"")]
    private static partial Regex SolutionProject();

    /// <summary>A link to a file of the repository: not to a web page and not within the document.</summary>
    [GeneratedRegex(@"\]\((?![a-z]+:|#)(?<target>[^)#\s]+)[^)]*\)")]
    private static partial Regex MarkdownLink();

    /// <summary>A path from the root in running text or code; what continues with a wildcard or placeholder is none.</summary>
    [GeneratedRegex(@"(?<![\w./-])(src|tests|load-tests|benchmarks|docs|eng|\.ci)/[\w./-]*[\w-](?![\w./-]|[*<{$])")]
    private static partial Regex RepositoryPath();
}
