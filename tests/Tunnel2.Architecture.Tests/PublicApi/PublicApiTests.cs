using System.Reflection;
using Tunnel2.Architecture.Tests.Layering;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.PublicApi;

/// <summary>Every change of a library's public surface is seen in review, as a change of its approved text.</summary>
public sealed class PublicApiTests
{
    private const string Folder = "tests/Tunnel2.Architecture.Tests/PublicApi";
    private const string AcceptVariable = "TUNNEL2_ACCEPT_API";

    public static TheoryData<string> Libraries =>
        [.. ProjectFile.UnderSrc.Where(project => project.IsLibrary).Select(project => project.Name)];

    [Theory]
    [MemberData(nameof(Libraries))]
    public void The_public_api_is_the_approved_one(string library)
    {
        var project = ProjectFile.All.Single(project => project.Name == library);
        var approvedFile = RepositoryFiles.FullPath($"{Folder}/{project.Name}.approved.txt");
        var receivedFile = RepositoryFiles.FullPath($"{Folder}/{project.Name}.received.txt");
        var received = PublicApiText.Render(Assembly.LoadFrom(AssemblyMetadata.PathOf(project)));
        if (Environment.GetEnvironmentVariable(AcceptVariable) == "1")
        {
            File.WriteAllText(approvedFile, received);
        }

        var approved = File.Exists(approvedFile) ? File.ReadAllText(approvedFile).ReplaceLineEndings("\n") : "";
        if (approved == received && File.Exists(approvedFile))
        {
            File.Delete(receivedFile);
            return;
        }

        File.WriteAllText(receivedFile, received);
        var (before, after) = (approved.Split('\n'), received.Split('\n'));
        var gone = before.Except(after).Select(static line => "- " + line.Trim());
        var come = after.Except(before).Select(static line => "+ " + line.Trim());
        Assert.Fail(
            $"""
            The public API of {project.Name} has changed:
            {string.Join('\n', gone.Concat(come).Take(40))}
            Its text is in {Folder}/{project.Name}.received.txt. To accept it, run
            {AcceptVariable}=1 dotnet test -c Release tests/Tunnel2.Architecture.Tests/Tunnel2.Architecture.Tests.csproj
            and commit the changed .approved.txt.
            """);
    }

    [Fact]
    public void Every_approved_text_belongs_to_a_library()
    {
        var names = ProjectFile.UnderSrc.Where(project => project.IsLibrary).Select(project => project.Name);
        var files = Directory.GetFiles(RepositoryFiles.FullPath(Folder), "*.approved.txt").Select(
            file => Path.GetFileName(file)[..^".approved.txt".Length]);
        Assert.Equal([], files.Except(names));
    }
}
