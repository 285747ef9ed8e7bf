namespace Tunnel2.Architecture.Tests.Repository;

public sealed class PackageTests
{
    /// <summary>The packages that programs reference; eng/PACKAGE.md names them.</summary>
    private static readonly string[] _roots = ["Tunnel2.Embed", "Tunnel2.ProxyEntry.Hosting"];

    [Fact]
    public void Packages_are_the_roots_and_all_that_they_are_made_of()
    {
        var wanted = new HashSet<string>();
        var queue = new Queue<string>(_roots.Select(static root => $"src/{root}/{root}.csproj"));
        while (queue.TryDequeue(out var path))
        {
            if (wanted.Add(path))
            {
                ProjectFile.All.Single(project => project.Path == path).References.ToList().ForEach(queue.Enqueue);
            }
        }

        var packable = ProjectFile.All.Where(static project => project.IsPackable).Select(static project => project.Path);
        Assert.Equal(wanted.Order(StringComparer.Ordinal), packable.Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Each_says_what_it_is_and_a_part_says_of_what()
    {
        foreach (var project in ProjectFile.All.Where(static project => project.IsPackable))
        {
            Assert.False(string.IsNullOrWhiteSpace(project.Description), $"{project.Path} has no description.");
            Assert.True(
                _roots.Contains(project.Name) || _roots.Any(root => project.Description.Contains(root, StringComparison.Ordinal)),
                $"{project.Path} does not say of which package it is a part.");
        }
    }
}
