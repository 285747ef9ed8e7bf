namespace Tunnel2.Architecture.Tests.Layering;

public sealed class FolderTests
{
    /// <summary>All below src, those that Tunnel2.sln does not build too.</summary>
    public static TheoryData<string> Sources => [.. FolderGraph.OfProjects.Keys];

    [Theory]
    [MemberData(nameof(Sources))]
    public void No_folders_of_a_project_know_each_other_in_a_circle(string name)
    {
        var circles = string.Join("; ", FolderGraph.OfProjects[name].Circles());
        Assert.True(circles.Length == 0, $"{circles}. Move what both need below them, or let the lower one say what it needs.");
    }

    [Theory]
    [InlineData("namespace P.A;", "using P.A;\nnamespace P.B;", "")]
    [InlineData("using P.B;\nnamespace P.A;", "using P.A;\nnamespace P.B;", "P: A B")]
    [InlineData("using static P.B.Helper;\nnamespace P.A;", "using P.A;\nnamespace P.B;", "P: A B")]
    [InlineData("using P.B.C;\nnamespace P.A;", "using P.A;\nnamespace P.B.C;", "P: A B")]
    [InlineData("namespace Tunnel2.A;\nclass One { Tunnel2.B.Other other; }", "using Tunnel2.A;\nnamespace Tunnel2.B;", "Tunnel2: A B")]
    [InlineData("namespace Tunnel2.A;\n// Tunnel2.B.Other", "using Tunnel2.A;\nnamespace Tunnel2.B;", "")]
    [InlineData("namespace Tunnel2.A;\nclass One { string a = \"Tunnel2.B.Other\"; }", "using Tunnel2.A;\nnamespace Tunnel2.B;", "")]
    [InlineData("using P.A;\nnamespace P;\npublic sealed class Outer;", "namespace P.A;\nclass Inner { Outer outer; }", "P: . A")]
    [InlineData("using P.A;\nnamespace P;\nreadonly record struct Outer;", "namespace P.A;\nclass Inner { /* Outer */ }", "")]
    public void A_circle_is_found_by_what_the_sources_say(string one, string other, string expected) =>
        Assert.Equal(expected, string.Join("; ", FolderGraph.Of(one, other).Circles()));

    [Fact]
    public void A_circle_may_go_by_way_of_a_third_and_those_beside_it_are_not_in_it()
    {
        var graph = FolderGraph.Of(
            "using P.B;\nusing P.D;\nnamespace P.A;",
            "using P.C;\nnamespace P.B;",
            "using P.A;\nnamespace P.C;",
            "namespace P.D;",
            "using P.A;\nnamespace P.E;");
        Assert.Equal(["P: A B C"], graph.Circles());
    }
}
