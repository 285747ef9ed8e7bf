using System.Xml.Linq;

namespace Tunnel2.Architecture.Tests.Repository;

/// <summary>What a .csproj says about itself; conditions and imports are not evaluated.</summary>
internal sealed class ProjectFile
{
    private readonly XElement _root;

    public ProjectFile(string path)
    {
        Path = path;
        Name = System.IO.Path.GetFileNameWithoutExtension(path);
        _root = XDocument.Load(RepositoryFiles.FullPath(path)).Root!;
    }

    /// <summary>Every project of the working tree.</summary>
    public static IReadOnlyList<ProjectFile> All { get; } = [.. RepositoryFiles.All(".csproj").Select(path => new ProjectFile(path))];

    /// <summary>Those below src that Tunnel2.sln builds.</summary>
    public static IEnumerable<ProjectFile> UnderSrc =>
        All.Where(project => project.Folder == "src" && !RepositoryTests.NotInTheSolution.Contains(project.Path));

    public string Path { get; }

    public string Name { get; }

    /// <summary>src, tests, load-tests or benchmarks.</summary>
    public string Folder => Path.Split('/')[0];

    public string AssemblyName => _root.Descendants("AssemblyName").FirstOrDefault()?.Value ?? Name;

    public bool IsLibrary => !_root.Descendants("OutputType").Any(type => type.Value is "Exe" or "WinExe");

    /// <summary>Whether eng/pack.sh makes a package of it.</summary>
    public bool IsPackable => _root.Descendants("IsPackable").Any(static value => value.Value == "true");

    public string? Description => _root.Descendants("Description").FirstOrDefault()?.Value;

    public bool SeesAspNet =>
        (string?)_root.Attribute("Sdk") is string sdk && sdk.StartsWith("Microsoft.NET.Sdk.", StringComparison.Ordinal)
        || Includes("FrameworkReference").Any(name => name.StartsWith("Microsoft.AspNetCore", StringComparison.Ordinal));

    public IEnumerable<string> Packages => Includes("PackageReference");

    public IEnumerable<string> Friends => Includes("InternalsVisibleTo");

    public IEnumerable<XElement> PackageElements => _root.Descendants("PackageReference");

    /// <summary>The referenced projects' paths from the root.</summary>
    public IEnumerable<string> References => Includes("ProjectReference").Select(include =>
        System.IO.Path.GetRelativePath(
            RepositoryFiles.Root,
            System.IO.Path.GetFullPath(include.Replace('\\', '/'), System.IO.Path.GetDirectoryName(RepositoryFiles.FullPath(Path))!))
            .Replace('\\', '/'));

    public override string ToString() => Path;

    private IEnumerable<string> Includes(string item) =>
        _root.Descendants(item).Select(element => (string?)element.Attribute("Include")).OfType<string>();
}
